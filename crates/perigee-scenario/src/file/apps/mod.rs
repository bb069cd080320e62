// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Applications of flows. Each declares its keys of `[[flow]]` in its own file; a line of `apps!`
//! registers it in the grammar, the schema and the reference.

use crate::file::checked::Checked;
use crate::file::error::Problem;
use crate::file::grammar::Section;
use perigee_timeline::{App, Law};
use std::sync::Arc;

/// An application as written in a file.
pub struct Spec {
    /// The simulator's application.
    pub app: App,
    /// Time between arrivals and size of each, where the flow represents many transfers.
    pub arrivals: Option<(Law, Law)>,
}

impl From<App> for Spec {
    fn from(app: App) -> Self {
        Spec { app, arrivals: None }
    }
}

macro_rules! apps {
    ($($module:ident::$app:ident),* $(,)?) => {
        $(mod $module;)*
        $(pub use $module::$app;)*

        /// The keys of each application; the first is the default.
        pub const APPS: &[&Section] = &[$(&$app::SECTION),*];
        /// Their names.
        pub const NAMES: &[&str] = &[$($app::SECTION.name),*];

        /// The application of a checked `[[flow]]`.
        pub fn read(flow: &Arc<Checked>, problems: &mut Vec<Problem>) -> Spec {
            match flow.kind() {
                $(name if name == $app::SECTION.name => $app::read(flow).spec(problems),)*
                other => unreachable!("the grammar knows no application {other:?}"),
            }
        }
    };
}

apps! {
    bulk::Bulk,
    ping::Ping,
    cbr::Cbr,
    on_off::OnOff,
    request::Request,
    web::Web,
    video::Video,
    voice::Voice,
    programs::Programs,
}
