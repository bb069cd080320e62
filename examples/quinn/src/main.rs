// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A transfer over QUIC with a congestion control of Perigee.
//!
//!     perigee-quinn server PORT
//!     perigee-quinn client HOST PORT SECONDS SCHEME

// A program in real time.
#![allow(clippy::disallowed_methods)]

use perigee_quinn::PerigeeConfig;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig, VarInt};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use std::collections::BTreeMap;
use std::error::Error;
use std::net::{Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

const PROTOCOL: &[u8] = b"zeros";
const CHUNK: [u8; 1 << 14] = [0; 1 << 14];
/// Receive windows above the bandwidth-delay products of long paths.
const WINDOW: u32 = 1 << 26;
const USAGE: &str = "server PORT | client HOST PORT SECONDS SCHEME";

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match words[..] {
        ["server", port] => runtime.block_on(serve(port.parse()?)),
        ["client", host, port, seconds, scheme] => {
            let to = (host, port.parse()?).to_socket_addrs()?.next().ok_or("the host has no address")?;
            runtime.block_on(send(to, Duration::from_secs_f64(seconds.parse()?), scheme))
        }
        _ => Err(USAGE.into()),
    }
}

async fn serve(port: u16) -> Outcome<()> {
    let made = rcgen::generate_simple_self_signed(vec!["perigee".into()])?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.key_pair.serialize_der()));
    let mut tls =
        rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)?;
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let mut transport = TransportConfig::default();
    transport.stream_receive_window(VarInt::from_u32(WINDOW)).receive_window(VarInt::from_u32(WINDOW));
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.transport_config(Arc::new(transport));
    let endpoint = Endpoint::server(config, SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)))?;
    while let Some(incoming) = endpoint.accept().await {
        let connection = incoming.await?;
        let mut stream = connection.accept_uni().await?;
        let (mut total, start) = (0u64, Instant::now());
        while let Ok(Some(chunk)) = stream.read_chunk(usize::MAX, true).await {
            total += chunk.bytes.len() as u64;
        }
        let mbit = total as f64 * 8e-6 / start.elapsed().as_secs_f64();
        println!("received {total} bytes, {mbit:.1} Mbit/s");
    }
    Ok(())
}

async fn send(to: SocketAddr, time: Duration, scheme: &str) -> Outcome<()> {
    let mut transport = TransportConfig::default();
    transport.send_window(u64::from(WINDOW));
    transport.congestion_controller_factory(Arc::new(PerigeeConfig::new(scheme, BTreeMap::new())?));
    let mut tls =
        rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Trusting))
            .with_no_client_auth();
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    config.transport_config(Arc::new(transport));
    let mut endpoint = Endpoint::client(SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)))?;
    endpoint.set_default_client_config(config);
    let connection = endpoint.connect(to, "perigee")?.await?;
    let mut stream = connection.open_uni().await?;
    let end = Instant::now() + time;
    while let Ok(written) =
        tokio::time::timeout(end.saturating_duration_since(Instant::now()), stream.write(&CHUNK)).await
    {
        written?;
    }
    let path = connection.stats().path;
    println!(
        "{scheme}: window {} bytes, RTT {:.1} ms, {} packets sent, {} lost",
        path.cwnd,
        path.rtt.as_secs_f64() * 1e3,
        path.sent_packets,
        path.lost_packets
    );
    connection.close(VarInt::from_u32(0), b"done");
    endpoint.wait_idle().await;
    Ok(())
}

/// Accepts the certificate of the server, which is made when it starts: for tests only.
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
