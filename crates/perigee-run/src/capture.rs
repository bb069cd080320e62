// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Capture sink of a run: packets of each flow at the sender; for flows of real hosts also at the
//! receiver.

use perigee_record::pcap::{Body, Capture, CaptureFlow, CapturePacket};
use perigee_record::{FlowInfo, FrameSeen, PacketKind, PacketSeen, RecordSink, RunOutcome, SinkError, Table};
use perigee_units::files;
use perigee_units::Nanos;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// Duration of a handshake in a capture if the RTT is unknown.
const HANDSHAKE: Nanos = Nanos::from_millis(50);

/// Name of the capture at the receiving ends of flows of real hosts.
const RECEIVERS: &str = "receivers.pcapng";

/// Sink that writes a capture.
pub struct CaptureSink {
    file: Option<BufWriter<File>>,
    flows: Vec<CaptureFlow>,
    capture: Option<Capture<BufWriter<File>>>,
    /// Path of the receivers' capture, which starts with the first packet of a real host there.
    receivers_path: PathBuf,
    receivers: Option<Capture<BufWriter<File>>>,
}

impl CaptureSink {
    /// Creates the file; packets at the receiving ends of flows of real hosts are written to
    /// `receivers.pcapng` next to it.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn create(path: &Path) -> Result<Self, SinkError> {
        let file = BufWriter::new(File::create(path).map_err(wrong)?);
        let receivers_path = path.with_file_name(RECEIVERS);
        Ok(CaptureSink {
            file: Some(file),
            flows: Vec::new(),
            capture: None,
            receivers_path,
            receivers: None,
        })
    }

    /// The capture; created at the first packet, when all flows are known.
    fn capture(&mut self) -> io::Result<Option<&mut Capture<BufWriter<File>>>> {
        if let Some(file) = self.file.take() {
            self.capture = Some(Capture::new(file, self.flows.clone())?);
        }
        Ok(self.capture.as_mut())
    }

    fn receivers(&mut self) -> io::Result<&mut Capture<BufWriter<File>>> {
        let capture = match self.receivers.take() {
            Some(begun) => begun,
            None => {
                let file = BufWriter::new(File::create(&self.receivers_path)?);
                // Each flow has an interface at its receiver.
                let turned =
                    |f: &CaptureFlow| CaptureFlow { from: f.to.clone(), to: f.from.clone(), ..f.clone() };
                let real: Vec<_> = self.flows.iter().map(turned).collect();
                Capture::new(file, real)?
            }
        };
        Ok(self.receivers.insert(capture))
    }
}

fn wrong(e: io::Error) -> SinkError {
    SinkError(format!("the capture cannot be written: {}", files::why(&e)))
}

impl RecordSink for CaptureSink {
    fn flow_added(&mut self, flow: &FlowInfo) -> Result<(), SinkError> {
        if self.capture.is_some() {
            return Err(SinkError(format!(
                "the capture has begun: flow {:?} comes too late for it",
                flow.name
            )));
        }
        self.flows.push(CaptureFlow {
            from: flow.from.clone(),
            to: flow.to.clone(),
            mss: flow.mss,
            handshake: flow.base_rtt_ns.map_or(HANDSHAKE, Nanos),
            timestamps: flow.timestamps,
            real: flow.real,
        });
        Ok(())
    }

    fn batch(&mut self, _rows: Table) -> Result<(), SinkError> {
        Ok(())
    }

    fn wants_packets(&self) -> bool {
        true
    }

    fn packet(&mut self, p: &PacketSeen<'_>) -> Result<(), SinkError> {
        let ts = (p.ts_val, p.ts_ecr);
        // The sender's end: what leaves it, and what comes back to it.
        let body = match (p.kind, p.leaving) {
            (PacketKind::Data, true) => Body::Data { seq: p.seq, payload: p.payload, ts },
            (PacketKind::Ack, false) => Body::Ack { ack: p.ack, sack: p.sack, ts },
            (PacketKind::Ping, true) => Body::Ping { number: p.seq, ip_bytes: p.ip_bytes },
            (PacketKind::Pong, false) => Body::Pong { number: p.seq, ip_bytes: p.ip_bytes },
            _ => return Ok(()),
        };
        let (at, telemetry) = (Nanos(p.at_ns), p.telemetry);
        let packet = CapturePacket { at, flow: p.flow, body, ecn: p.ecn, telemetry };
        match self.capture().map_err(wrong)? {
            Some(capture) => capture.packet(&packet).map_err(wrong),
            None => Ok(()),
        }
    }

    fn frame(&mut self, f: &FrameSeen<'_>) -> Result<(), SinkError> {
        let capture = match f.at_source {
            true => self.capture().map_err(wrong)?,
            false => Some(self.receivers().map_err(wrong)?),
        };
        let (at, kept) = (Nanos(f.at_ns), f.informative_bytes);
        capture.map_or(Ok(()), |c| c.frame(f.flow, at, f.packet, kept)).map_err(wrong)
    }

    fn end(&mut self, _outcome: &RunOutcome) -> Result<(), SinkError> {
        self.capture().map_err(wrong)?;
        let begun = [self.capture.take(), self.receivers.take()];
        begun.into_iter().flatten().try_for_each(|c| c.finish().map(|_| ())).map_err(wrong)
    }
}
