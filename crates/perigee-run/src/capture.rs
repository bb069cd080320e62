// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A capture as one more sink of a run: each flow as its sender's end sees it.

use perigee_record::pcap::{Body, Capture, CaptureFlow, CapturePacket};
use perigee_record::sink::PacketKind;
use perigee_record::{FlowInfo, PacketSeen, RecordSink, RunOutcome, SinkError, Table};
use perigee_units::files;
use perigee_units::Nanos;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

/// A handshake of unknown length takes this long in a capture.
const HANDSHAKE: Nanos = Nanos::from_millis(50);

/// Writes a capture.
pub struct CaptureSink {
    file: Option<BufWriter<File>>,
    flows: Vec<CaptureFlow>,
    capture: Option<Capture<BufWriter<File>>>,
}

impl CaptureSink {
    /// Into a new file.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn create(path: &Path) -> Result<Self, SinkError> {
        let file = BufWriter::new(File::create(path).map_err(wrong)?);
        Ok(CaptureSink { file: Some(file), flows: Vec::new(), capture: None })
    }

    /// The capture, which begins with the first packet: all flows are known then.
    fn capture(&mut self) -> io::Result<Option<&mut Capture<BufWriter<File>>>> {
        if let Some(file) = self.file.take() {
            self.capture = Some(Capture::new(file, std::mem::take(&mut self.flows))?);
        }
        Ok(self.capture.as_mut())
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

    fn end(&mut self, _outcome: &RunOutcome) -> Result<(), SinkError> {
        self.capture().map_err(wrong)?;
        self.capture.take().map_or(Ok(()), |c| c.finish().map(|_| ()).map_err(wrong))
    }
}
