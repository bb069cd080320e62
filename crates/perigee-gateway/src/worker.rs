// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Thread of the gateway, which handles SYNs, connections to the far side, and accepted
//! connections.
//!
//! Threads share only counters and have their own tables of descriptors, so that the limit of open
//! files applies to each thread. Therefore, one thread cannot wake the runtime of another: requests
//! to drain and to stop are flags, which each worker reads five times a second.

use crate::counters::{add, Counters, Raised};
use crate::options::{From, Options};
use crate::queue::{Queue, Verdict, Waiting};
use crate::relay::{relay, Leg, Pipes, Shared};
use crate::rules::Ports;
use crate::syn::{self, Syn};
use crate::system;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Sender;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;
use tokio::task::{spawn_local, JoinHandle, LocalSet};
use tokio::time::{sleep, timeout};

const BACKLOG: i32 = 4096;
/// Maximum number of SYNs that wait in a queue.
const WAITING_SYNS: u32 = 16384;
const TICK: Duration = Duration::from_millis(200);
/// Timeout for the handshake of an admitted client.
const HANDSHAKE: Duration = Duration::from_secs(20);

type Ends = (SocketAddr, SocketAddr);

/// The far leg of a connection that has not yet completed the handshake with the client.
enum Far {
    Dialled,
    Connected(Leg),
}

/// A worker's part of a direction: the queue of its SYNs, and the sockets that accept its
/// connections.
struct Lane {
    worker: Rc<Worker>,
    /// `None` with --spoof, and while the gateway drains, since a successor may need the number.
    queue: RefCell<Option<Rc<AsyncFd<Queue>>>>,
    verdict_mark: u32,
    /// Whether the client is at the inside interface.
    outwards: bool,
    far: RefCell<HashMap<Ends, Far>>,
}

struct Worker {
    options: Options,
    counters: Arc<Counters>,
    pipes: Pipes,
    start: Instant,
}

/// Runs a worker until the gateway stops. Sends the ports of its lanes by direction, or the reason
/// why it cannot run.
pub fn run(
    index: usize,
    options: Options,
    counters: Arc<Counters>,
    ready: Sender<Result<Vec<Ports>, String>>,
) {
    let run = || -> io::Result<()> {
        system::own_descriptors()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let worker = Rc::new(Worker { options, counters, pipes: Pipes::default(), start: Instant::now() });
        LocalSet::new().block_on(&runtime, worker.serve(index, &ready))
    };
    if let Err(error) = run() {
        // If there is no receiver, the gateway has ended.
        let _ = ready.send(Err(error.to_string()));
    }
}

impl Worker {
    async fn serve(
        self: Rc<Self>,
        index: usize,
        ready: &Sender<Result<Vec<Ports>, String>>,
    ) -> io::Result<()> {
        let (mut lanes, mut ports) = (Vec::new(), Vec::new());
        for direction in 0..self.options.from.directions(&self.options).len() {
            let lane = self.options.lane(direction, index);
            let outwards = direction == 0 && self.options.from != From::Outside;
            let queue = RefCell::new(self.bind_queue(lane).await?.map(Rc::new));
            let verdict_mark = self.options.verdict_mark(lane);
            let far = RefCell::default();
            let lane = Rc::new(Lane { worker: self.clone(), queue, verdict_mark, outwards, far });
            ports.push(lane.clone().listen()?);
            lanes.push(lane);
        }
        let _ = ready.send(Ok(ports));
        let intakes: Vec<_> = lanes.iter().map(|lane| spawn_local(lane.clone().take_syns())).collect();
        while !self.counters.stopping.load(Relaxed) {
            if self.counters.draining.load(Relaxed) {
                intakes.iter().for_each(JoinHandle::abort);
                lanes.iter().for_each(|lane| drop(lane.queue.take()));
            }
            sleep(TICK).await;
        }
        Ok(())
    }

    /// Binds the queue of a lane, which a replaced gateway needs a moment to release.
    async fn bind_queue(&self, lane: u16) -> io::Result<Option<AsyncFd<Queue>>> {
        if self.options.spoof {
            return Ok(None);
        }
        let begin = Instant::now();
        loop {
            match Queue::bind(self.options.queue + lane, WAITING_SYNS) {
                Ok(queue) => return system::register(queue, Interest::READABLE).map(Some),
                Err(_) if begin.elapsed() < Duration::from_secs(3) && self.options.replace => {
                    sleep(TICK).await
                }
                Err(e) => return Err(e),
            }
        }
    }

    fn is_full(&self) -> bool {
        let counters = &self.counters;
        let all = counters.open.load(Relaxed) + counters.dialling.load(Relaxed);
        all >= i64::from(self.options.connections)
    }
}

impl Lane {
    fn congestion(&self, faces_outside: bool) -> Option<&str> {
        let options = &self.worker.options;
        if faces_outside { &options.congestion } else { &options.inside_congestion }.as_deref()
    }

    /// Opens the listening sockets and starts to accept.
    fn listen(self: Rc<Self>) -> io::Result<Ports> {
        let v4 = self.clone().listen_on(false)?;
        Ok(Ports { v4, v6: self.listen_on(true).ok() })
    }

    fn listen_on(self: Rc<Self>, v6: bool) -> io::Result<u16> {
        let address = system::loopback(v6);
        let fd = system::tcp_socket(address)?;
        system::set_transparent(&fd, v6)?;
        if v6 {
            system::set_v6_only(&fd)?;
        }
        if let Some(name) = self.congestion(!self.outwards) {
            system::set_congestion(&fd, name)?;
        }
        system::save_syn(&fd)?;
        system::bind(&fd, address)?;
        system::listen(&fd, BACKLOG)?;
        let listener = TcpListener::from(fd);
        let own = listener.local_addr()?;
        let listener = system::register(listener, Interest::READABLE)?;
        spawn_local(self.accept_all(listener, own));
        Ok(own.port())
    }

    async fn accept_all(self: Rc<Self>, listener: AsyncFd<TcpListener>, own: SocketAddr) {
        loop {
            let Ok(mut guard) = listener.readable().await else { return };
            if self.worker.options.spoof && self.worker.is_full() {
                // Clients wait in the listen backlog.
                sleep(TICK).await;
                continue;
            }
            match system::accept(&listener) {
                Ok(fd) => {
                    spawn_local(self.clone().accepted(fd, own));
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => guard.clear_ready(),
                // There are no free descriptors.
                Err(_) => sleep(TICK).await,
            }
        }
    }

    /// Handles the connection of a client, from its handshake to its end.
    async fn accepted(self: Rc<Self>, fd: OwnedFd, own: SocketAddr) {
        let Ok(near) = Leg::new(fd) else { return };
        let _ = system::set_reset_on_close(&near, true);
        // The socket itself has no addresses once the client has reset the connection.
        let syn = system::saved_syn(&near).ok().and_then(|syn| Syn::read(&syn));
        let Some(syn) = syn else { return };
        let ends = (syn.from, syn.to);
        if ends.1 == plain(own) {
            // A program on this machine has connected to the gateway itself.
            return;
        }
        let counters = &self.worker.counters;
        let far = if self.worker.options.spoof {
            match self.dial(ends, syn.traffic_class).await {
                Ok(far) => far,
                Err(error) => return self.count_failure(&error),
            }
        } else {
            match self.far.borrow_mut().remove(&ends) {
                Some(Far::Connected(far)) => far,
                _ => return,
            }
        };
        add(&counters.split, 1);
        if self.prepare(&near, ends.0.is_ipv6(), syn.traffic_class).is_err() {
            return add(&counters.reset, 1);
        }
        let _open = Raised::new(&counters.open);
        let worker = &self.worker;
        let (options, pipes, start) = (&worker.options, &worker.pipes, worker.start);
        let shared = Shared { options, counters, start, pipes };
        let (inside, outside) = if self.outwards { (&near, &far) } else { (&far, &near) };
        if relay(inside, outside, &shared).await.is_ok() {
            add(&counters.completed, 1);
            let _ = system::set_reset_on_close(&near, false);
            let _ = system::set_reset_on_close(&far, false);
        } else {
            // Both legs close with a reset.
            add(&counters.reset, 1);
        }
    }

    async fn take_syns(self: Rc<Self>) {
        let mut buffer = vec![0; 1 << 16];
        let Some(queue) = self.queue.borrow().clone() else { return };
        loop {
            let Ok(mut guard) = queue.readable().await else { return };
            match queue.get_ref().take(&mut buffer) {
                Ok(waiting) => waiting.into_iter().for_each(|w| self.clone().take_syn(w)),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => guard.clear_ready(),
                Err(_) => add(&self.worker.counters.lost_notices, 1),
            }
        }
    }

    fn take_syn(self: Rc<Self>, waiting: Waiting) {
        let counters = &self.worker.counters;
        let syn = Syn::read(&waiting.packet).filter(|syn| !syn.joins);
        let Some(syn) = syn else { return self.pass(waiting.id) };
        let ends = (syn.from, syn.to);
        match self.far.borrow().get(&ends) {
            Some(Far::Dialled) => {
                add(&counters.repeated_syns, 1);
                return self.decide(waiting.id, Verdict::Drop);
            }
            Some(Far::Connected(_)) => return self.decide(waiting.id, Verdict::Admit(self.verdict_mark)),
            None => {}
        }
        if self.worker.is_full() || counters.draining.load(Relaxed) {
            return self.pass(waiting.id);
        }
        self.far.borrow_mut().insert(ends, Far::Dialled);
        spawn_local(self.clone().answer(waiting.id, syn));
    }

    fn pass(&self, id: u32) {
        add(&self.worker.counters.passed, 1);
        self.decide(id, Verdict::Pass);
    }

    fn decide(&self, id: u32, verdict: Verdict) {
        if let Some(queue) = &*self.queue.borrow() {
            // A packet that is gone needs no verdict.
            let _ = queue.get_ref().decide(id, verdict);
        }
    }

    /// Connects to the far side of a waiting SYN, and admits the SYN once there is an answer.
    async fn answer(self: Rc<Self>, id: u32, syn: Syn) {
        let ends = (syn.from, syn.to);
        let counters = &self.worker.counters;
        match self.dial(ends, syn.traffic_class).await {
            // The waiting SYN is lost with the queue.
            Ok(_) if self.queue.borrow().is_none() => drop(self.far.borrow_mut().remove(&ends)),
            Ok(far) => {
                self.far.borrow_mut().insert(ends, Far::Connected(far));
                self.decide(id, Verdict::Admit(self.verdict_mark));
                sleep(HANDSHAKE).await;
                if matches!(self.far.borrow().get(&ends), Some(Far::Connected(_))) {
                    add(&counters.abandoned, 1);
                    self.far.borrow_mut().remove(&ends);
                }
            }
            Err(error) => {
                self.far.borrow_mut().remove(&ends);
                self.count_failure(&error);
                match error.kind() {
                    io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => {
                        self.decide(id, Verdict::Drop);
                        let _ = syn::refuse(&syn);
                    }
                    io::ErrorKind::TimedOut => self.decide(id, Verdict::Drop),
                    // Routers on the path answer as they would without a gateway.
                    _ => self.pass(id),
                }
            }
        }
    }

    fn count_failure(&self, error: &io::Error) {
        let counters = &self.worker.counters;
        match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => add(&counters.refused, 1),
            io::ErrorKind::TimedOut => add(&counters.timed_out, 1),
            _ => {}
        }
    }

    /// Connects to the server with the address of the client.
    async fn dial(&self, (client, server): Ends, traffic_class: u8) -> io::Result<Leg> {
        let counters = &self.worker.counters;
        let _dialling = Raised::new(&counters.dialling);
        let far = match self.start_dial(client, server, traffic_class) {
            // An earlier connection still has the port of the client.
            Err(e) if matches!(e.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable) => {
                add(&counters.other_port, 1);
                self.start_dial(SocketAddr::new(client.ip(), 0), server, traffic_class)?
            }
            other => other?,
        };
        let far = Leg::new(far)?;
        let limit = Duration::from_secs(u64::from(self.worker.options.dial_s));
        timeout(limit, far.connected()).await.map_err(|_| io::ErrorKind::TimedOut)??;
        Ok(far)
    }

    fn start_dial(&self, client: SocketAddr, server: SocketAddr, traffic_class: u8) -> io::Result<OwnedFd> {
        let fd = system::tcp_socket(server)?;
        system::set_transparent(&fd, server.is_ipv6())?;
        system::set_reuse_address(&fd)?;
        system::set_reset_on_close(&fd, true)?;
        if let Some(name) = self.congestion(self.outwards) {
            system::set_congestion(&fd, name)?;
        }
        self.prepare(&fd, server.is_ipv6(), traffic_class)?;
        system::bind(&fd, client)?;
        system::connect(&fd, server)?;
        Ok(fd)
    }

    /// Sets the options of both legs.
    fn prepare(&self, fd: &impl std::os::fd::AsRawFd, v6: bool, traffic_class: u8) -> io::Result<()> {
        let options = &self.worker.options;
        system::set_keepalive(fd, options.keepalive_s)?;
        system::set_no_delay(fd)?;
        system::set_send_buffer(fd, options.buffer)?;
        system::set_dscp(fd, v6, traffic_class)
    }
}

/// An address without flow label and scope.
fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip(), address.port())
}
