// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Handover and path notices for programs on real hosts, as lines of JSON:
//!
//! ```json
//! {"event":"begin","flow":"video","node":"london","t_ns":5000000000,"until_ns":5100000000}
//! ```

use perigee_sim::{FlowNotice, Notice};
use serde_json::{json, Value};

/// Line for a host at one end of the flow. `until_ns`, the expected end, is present at `begin`
/// only.
pub fn line(received: &FlowNotice, host: &str, flow: &str) -> String {
    let mut fields =
        json!({ "t_ns": received.at.0, "node": host, "flow": flow, "event": event(received.notice) });
    if let (Notice::Begin(end), Value::Object(fields)) = (received.notice, &mut fields) {
        fields.insert("until_ns".into(), end.0.into());
    }
    fields.to_string()
}

fn event(notice: Notice) -> &'static str {
    match notice {
        Notice::Begin(_) => "begin",
        Notice::End => "end",
        Notice::Path(_) => "path",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_units::Nanos;

    #[test]
    fn a_notice_is_a_json_object() {
        let text = |notice| line(&FlowNotice { at: Nanos(5), flow: 1, notice }, "a", "a \"b\"");
        let begin = r#"{"event":"begin","flow":"a \"b\"","node":"a","t_ns":5,"until_ns":9}"#;
        assert_eq!(text(Notice::Begin(Nanos(9))), begin);
        assert!(text(Notice::End).contains(r#""event":"end""#) && !text(Notice::End).contains("until"));
        assert!(text(Notice::Path(7)).contains(r#""event":"path""#));
    }
}
