// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A server that reads and a client that sends zeros, over a released crate of QUIC.
//!
//!     perigee-judged server PORT
//!     perigee-judged client HOST PORT SECONDS BYTES QLOG CONGESTION_CONTROL
//!
//! The server prints `received BYTES` ten times a second. The client writes what the crate reports
//! of its connection into QLOG/client.sqlog, a hundred times a second.

use proto::congestion;
use quic::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quic::{ClientConfig, Connection, Endpoint, RecvStream, SendStream, ServerConfig, TransportConfig, VarInt};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::{Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

type Outcome<T> = Result<T, Box<dyn Error>>;

const PROTOCOL: &[u8] = b"zeros";
const CHUNK: [u8; 1 << 14] = [0; 1 << 14];
/// Receive windows above every bandwidth-delay product of the catalogues.
const WINDOW: u32 = 1 << 26;

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match words[..] {
        ["server", port] => runtime.block_on(serve(port.parse()?)),
        ["client", host, port, seconds, bytes, qlog, cc] => {
            let to = (host, port.parse::<u16>()?).to_socket_addrs()?.find(SocketAddr::is_ipv6);
            let to = to.ok_or("the host has no IPv6 address")?;
            runtime.block_on(send(to, seconds.parse()?, bytes.parse()?, qlog, cc))
        }
        _ => Err("server PORT | client HOST PORT SECONDS BYTES QLOG CONGESTION_CONTROL".into()),
    }
}

/// Transport with wide windows and a congestion control by name.
fn transport(cc: &str) -> Outcome<Arc<TransportConfig>> {
    let mut made = TransportConfig::default();
    made.stream_receive_window(VarInt::from_u32(WINDOW));
    made.receive_window(VarInt::from_u32(WINDOW));
    made.send_window(u64::from(WINDOW));
    made.max_idle_timeout(Some(Duration::from_secs(60).try_into()?));
    let factory: Arc<dyn congestion::ControllerFactory + Send + Sync> = match cc {
        "cubic" => Arc::new(congestion::CubicConfig::default()),
        "newreno" => Arc::new(congestion::NewRenoConfig::default()),
        #[cfg(not(feature = "noq"))]
        "bbr" => Arc::new(congestion::BbrConfig::default()),
        #[cfg(feature = "noq")]
        "bbr3" => Arc::new(congestion::Bbr3Config::default()),
        other => return Err(format!("{other:?} is no congestion control of this crate").into()),
    };
    made.congestion_controller_factory(factory);
    Ok(Arc::new(made))
}

async fn serve(port: u16) -> Outcome<()> {
    let made = rcgen::generate_simple_self_signed(vec!["judged".into()])?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.key_pair.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)?;
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.transport_config(transport("cubic")?);
    let endpoint = Endpoint::server(config, SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)))?;
    while let Some(incoming) = endpoint.accept().await {
        let connection = incoming.await?;
        let mut stream = connection.accept_uni().await?;
        let (mut total, mut reported) = (0, Instant::now());
        while let Some(bytes) = received(&mut stream).await {
            total += bytes as u64;
            if reported.elapsed() >= Duration::from_millis(100) {
                reported = Instant::now();
                println!("received {total}");
            }
        }
        println!("received {total}");
        connection.close(VarInt::from_u32(0), b"done");
    }
    Ok(())
}

/// Bytes of the next piece of a stream, in order; `None` at its end.
async fn received(stream: &mut RecvStream) -> Option<usize> {
    #[cfg(feature = "noq")]
    return stream.read_chunk(usize::MAX).await.ok().flatten().map(|bytes| bytes.len());
    #[cfg(not(feature = "noq"))]
    return stream.read_chunk(usize::MAX, true).await.ok().flatten().map(|chunk| chunk.bytes.len());
}

async fn send(to: SocketAddr, seconds: f64, bytes: u64, qlog: &str, cc: &str) -> Outcome<()> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trusting))
        .with_no_client_auth();
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    config.transport_config(transport(cc)?);
    let mut endpoint = Endpoint::client(SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)))?;
    endpoint.set_default_client_config(config);
    let connection = endpoint.connect(to, "judged")?.await?;
    let stream = connection.open_uni().await?;
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut log = Log::create(qlog)?;
    let sending = write(stream, bytes, end);
    tokio::pin!(sending);
    loop {
        tokio::select! {
            biased;
            done = &mut sending => { done?; break }
            () = tokio::time::sleep(Duration::from_millis(10)) => log.sample(&connection)?,
        }
    }
    log.sample(&connection)?;
    log.file.flush()?;
    if bytes > 0 {
        // The server closes the connection when it has all.
        connection.closed().await;
    } else {
        connection.close(VarInt::from_u32(0), b"done");
    }
    endpoint.wait_idle().await;
    Ok(())
}

/// Writes a number of bytes, or until a time.
async fn write(mut stream: SendStream, bytes: u64, end: Instant) -> Outcome<()> {
    let mut left = bytes;
    while if bytes > 0 { left > 0 } else { Instant::now() < end } {
        let size = if bytes > 0 { left.min(CHUNK.len() as u64) as usize } else { CHUNK.len() };
        let rest = end.saturating_duration_since(Instant::now());
        match tokio::time::timeout(rest, stream.write(&CHUNK[..size])).await {
            Ok(written) => left = left.saturating_sub(written? as u64),
            Err(_) if bytes == 0 => break,
            Err(_) => return Err("the transfer was not complete in time".into()),
        }
    }
    if bytes > 0 {
        stream.finish()?;
    } else {
        // The connection is closed with what waits in it.
        std::mem::forget(stream);
    }
    Ok(())
}

/// Events of a connection, from its statistics.
struct Log {
    file: BufWriter<File>,
    sent: u64,
    lost: u64,
}

impl Log {
    fn create(folder: &str) -> Outcome<Self> {
        let mut file = BufWriter::new(File::create(format!("{folder}/client.sqlog"))?);
        let head = r#"{"qlog_version":"0.3","qlog_format":"JSON-SEQ","trace":{"vantage_point":{"type":"client"}}}"#;
        writeln!(file, "\u{1e}{head}")?;
        Ok(Log { file, sent: 0, lost: 0 })
    }

    fn event(&mut self, name: &str, data: &str) -> Outcome<()> {
        let time_ms = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64() * 1e3;
        let at = format!(r#""time":{time_ms:.6},"name":"{name}""#);
        writeln!(self.file, "\u{1e}{{{at},\"data\":{{{data}}}}}")?;
        Ok(())
    }

    fn sample(&mut self, connection: &Connection) -> Outcome<()> {
        let Some(path) = path_of(connection) else { return Ok(()) };
        for _ in self.sent..path.sent_packets {
            self.event("transport:packet_sent", "")?;
        }
        for _ in self.lost..path.lost_packets {
            self.event("recovery:packet_lost", "")?;
        }
        (self.sent, self.lost) = (path.sent_packets, path.lost_packets);
        let rtt_ms = path.rtt.as_secs_f64() * 1e3;
        let data = format!(r#""smoothed_rtt":{rtt_ms:.6},"congestion_window":{}"#, path.cwnd);
        self.event("recovery:metrics_updated", &data)
    }
}

#[cfg(feature = "noq")]
fn path_of(connection: &Connection) -> Option<proto::PathStats> {
    connection.path_stats(proto::PathId::ZERO)
}

#[cfg(not(feature = "noq"))]
fn path_of(connection: &Connection) -> Option<quic::PathStats> {
    Some(connection.stats().path)
}

/// Accepts the certificate of the server, which is made when it starts.
#[derive(Debug)]
struct Trusting;

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ECDSA_NISTP256_SHA256, SignatureScheme::ED25519]
    }
}
