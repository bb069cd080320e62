// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Health endpoint over a Unix socket and loopback HTTP, and shutdown of the gateway by signals and
//! requests to drain.

use crate::counters::Counters;
use crate::options::Options;
use crate::rules::Table;
use crate::system;
use std::cell::Cell;
use std::fs::{remove_file, set_permissions, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, Interest};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;
use tokio::task::{spawn_local, LocalSet};
use tokio::time::{sleep, timeout};

const TICK: Duration = Duration::from_millis(100);
const TIMEOUT: Duration = Duration::from_secs(5);
const LARGEST_REQUEST: usize = 4096;
/// Limit for the requests that an endpoint answers at a time: relayed connections need the descriptors.
const MOST_REQUESTS: usize = 32;

/// Sends a request to a running gateway, and prints the answer.
///
/// # Errors
/// A message if no gateway is running.
pub fn print(options: &Options, method: &str, path: &str) -> Result<(), String> {
    let answer = request(options, method, path).map_err(|e| {
        format!("no gateway answers at {} ({e}); --control PATH names its socket", options.control.display())
    })?;
    println!("{}", answer.trim_end());
    Ok(())
}

fn request(options: &Options, method: &str, path: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(&options.control)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    write!(stream, "{method} {path} HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned()))
}

/// The health endpoint, which has claimed its socket.
pub struct Endpoint {
    socket: std::os::unix::net::UnixListener,
    signals: OwnedFd,
}

impl Endpoint {
    /// Claims the socket; a gateway that has it is replaced on request. From now on, the endpoint
    /// receives the signals of this thread and of threads that start later.
    ///
    /// # Errors
    /// A message if another gateway has the socket, or if it cannot be created.
    pub fn claim(options: &Options) -> Result<Endpoint, String> {
        let path = &options.control;
        if UnixStream::connect(path).is_ok() {
            if !options.replace {
                return Err(format!(
                    "a gateway answers at {}: end it, replace it with --replace, or name another socket with \
                     --control (and other numbers with --queue)",
                    path.display()
                ));
            }
            request(options, "POST", "/drain")
                .map_err(|e| format!("the running gateway does not drain: {e}"))?;
        }
        let _ = remove_file(path);
        let socket = std::os::unix::net::UnixListener::bind(path)
            .and_then(|socket| set_permissions(path, Permissions::from_mode(0o600)).map(|()| socket))
            .and_then(|socket| socket.set_nonblocking(true).map(|()| socket))
            .map_err(|e| format!("--control {}: {e}", path.display()))?;
        let signals = system::end_signals().map_err(|e| e.to_string())?;
        Ok(Endpoint { socket, signals })
    }

    /// Serves requests until the gateway is to end.
    ///
    /// # Errors
    /// Errors of the endpoint, as a message.
    pub fn serve(self, options: &Options, counters: &Arc<Counters>, table: &Table) -> Result<(), String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| e.to_string())?;
        LocalSet::new()
            .block_on(&runtime, self.until_end(options, counters, table))
            .map_err(|e| e.to_string())
    }

    async fn until_end(self, options: &Options, counters: &Arc<Counters>, table: &Table) -> io::Result<()> {
        let state =
            Rc::new(State { options: options.clone(), counters: counters.clone(), drain: Cell::new(false) });
        let listener = UnixListener::from_std(self.socket)?;
        let endpoint = spawn_local(serve(
            async move || listener.accept().await.map(|(stream, _)| stream),
            state.clone(),
            true,
        ));
        if let Some(port) = options.health_port {
            let http = TcpListener::bind(("127.0.0.1", port)).await?;
            spawn_local(serve(
                async move || http.accept().await.map(|(stream, _)| stream),
                state.clone(),
                false,
            ));
        }
        eprintln!("perigee gateway: {} to {}, ready", options.inside, options.outside);
        let ends = Signals(system::register(self.signals, Interest::READABLE)?);
        let signalled = loop {
            let signal = timeout(TICK, ends.next()).await.is_ok();
            if signal || state.drain.get() {
                break signal;
            }
        };
        table.stop_intake()?;
        counters.draining.store(true, Relaxed);
        if !signalled {
            // The successor replaces the socket.
            sleep(TICK).await;
            endpoint.abort();
        }
        let begin = Instant::now();
        let time = Duration::from_secs(u64::from(options.drain_s));
        let busy = || counters.open.load(Relaxed) > 0 || counters.dialling.load(Relaxed) > 0;
        // Without a signal, there is no time limit for open connections.
        while busy() && (!signalled || begin.elapsed() < time) {
            if timeout(TICK, ends.next()).await.is_ok() {
                break;
            }
        }
        if signalled {
            let _ = remove_file(&options.control);
        }
        Ok(())
    }
}

struct State {
    options: Options,
    counters: Arc<Counters>,
    drain: Cell<bool>,
}

impl State {
    fn health(&self) -> String {
        let options = &self.options;
        let mut health = self.counters.as_json();
        for (name, value) in [
            ("state", self.counters.state()),
            ("inside", &options.inside),
            ("outside", &options.outside),
            ("congestion_control", options.congestion.as_deref().unwrap_or("")),
            ("handshake", if options.spoof { "spoofed" } else { "end to end" }),
        ] {
            health.insert(name.to_owned(), value.into());
        }
        health.insert("process".to_owned(), std::process::id().into());
        health.insert("cpu_s".to_owned(), system::cpu_seconds().into());
        serde_json::Value::from(health).to_string()
    }
}

/// Answers accepted connections; requests over the Unix socket are trusted. Further ones than
/// `MOST_REQUESTS` wait to be accepted, without a descriptor of this process. After an error, such
/// as that of too many open files, the endpoint pauses and continues.
async fn serve<S>(accept: impl AsyncFn() -> io::Result<S>, state: Rc<State>, trusted: bool)
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let places = Arc::new(Semaphore::new(MOST_REQUESTS));
    while let Ok(place) = places.clone().acquire_owned().await {
        match accept().await {
            Ok(stream) => {
                let state = state.clone();
                spawn_local(async move {
                    answer(stream, state, trusted).await;
                    drop(place);
                });
            }
            Err(_) => sleep(TICK).await,
        }
    }
}

/// Answers a request; only requests over the Unix socket may change the state.
async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin, state: Rc<State>, trusted: bool) {
    let mut request = Vec::new();
    let read = async {
        let mut buffer = [0; 512];
        while !request.windows(4).any(|w| w == b"\r\n\r\n") && request.len() < LARGEST_REQUEST {
            match stream.read(&mut buffer).await {
                Ok(n) if n > 0 => request.extend(&buffer[..n]),
                _ => break,
            }
        }
    };
    if timeout(TIMEOUT, read).await.is_err() {
        return;
    }
    let line = String::from_utf8_lossy(request.split(|b| *b == b'\r').next().unwrap_or(&[])).into_owned();
    let words: Vec<_> = line.split(' ').collect();
    let (status, kind, body) = match words.get(..2) {
        Some(["GET", "/health"]) => ("200 OK", "application/json", state.health()),
        Some(["GET", "/metrics"]) => ("200 OK", "text/plain; version=0.0.4", state.counters.as_prometheus()),
        Some(["POST", "/drain"]) if trusted => {
            state.drain.set(true);
            ("200 OK", "text/plain", "draining\n".to_owned())
        }
        _ => ("404 Not Found", "text/plain", "GET /health or /metrics\n".to_owned()),
    };
    let length = body.len();
    let text = format!("HTTP/1.0 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}");
    let _ = timeout(TIMEOUT, stream.write_all(text.as_bytes())).await;
}

/// SIGINT and SIGTERM.
struct Signals(AsyncFd<OwnedFd>);

impl Signals {
    async fn next(&self) {
        loop {
            let Ok(mut guard) = self.0.readable().await else { return };
            if system::take_signal(&self.0) {
                return;
            }
            guard.clear_ready();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use tokio::net::TcpStream;

    fn state() -> Rc<State> {
        let options = Options::read(&["clean".to_owned()]).expect("valid").expect("no help");
        Rc::new(State { options, counters: Arc::default(), drain: Cell::new(false) })
    }

    fn in_runtime(test: impl Future<Output = io::Result<()>>) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        LocalSet::new().block_on(&runtime, test)
    }

    async fn ask(address: std::net::SocketAddr) -> io::Result<String> {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(b"GET /health HTTP/1.0\r\n\r\n").await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    }

    #[test]
    fn an_endpoint_continues_after_errors() -> io::Result<()> {
        in_runtime(async {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
            let address = listener.local_addr()?;
            let errors = Cell::new(3);
            let accept = async move || {
                if errors.replace(errors.get().max(1) - 1) > 0 {
                    return Err(io::Error::from_raw_os_error(libc::EMFILE));
                }
                listener.accept().await.map(|(stream, _)| stream)
            };
            spawn_local(serve(accept, state(), false));
            let begin = Instant::now();
            assert!(ask(address).await?.starts_with("HTTP/1.0 200 OK"));
            assert!(begin.elapsed() >= 3 * TICK, "it pauses after each error");
            Ok(())
        })
    }

    #[test]
    fn idle_connections_beyond_a_limit_take_no_descriptors() -> io::Result<()> {
        in_runtime(async {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
            let address = listener.local_addr()?;
            let accepted = Rc::new(Cell::new(0));
            let count = accepted.clone();
            let accept = async move || {
                let (stream, _) = listener.accept().await?;
                count.set(count.get() + 1);
                Ok(stream)
            };
            spawn_local(serve(accept, state(), false));
            let mut idle = Vec::new();
            for _ in 0..MOST_REQUESTS + 10 {
                idle.push(TcpStream::connect(address).await?);
            }
            assert!(timeout(5 * TICK, ask(address)).await.is_err());
            assert_eq!(accepted.get(), MOST_REQUESTS);
            // Idle connections are closed after a while, and the others follow.
            assert!(timeout(3 * TIMEOUT, ask(address)).await??.starts_with("HTTP/1.0 200 OK"));
            Ok(())
        })
    }
}
