// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reader of the shares of traffic between cells, `[demand] shares`.

use crate::file::cells::{number, table, Cell};
use crate::file::suggestions;
use std::collections::{BTreeMap, BTreeSet};

/// Characters of a header that an error quotes: the file may be another than meant.
const MOST_SHOWN: usize = 100;
/// Most rows.
const MAX_ROWS: usize = 1_000_000;

/// Rows of a CSV file with columns from, to and share: numbers of cells, and the share.
///
/// # Errors
/// The first wrong row, as text: unknown or equal cells, a pair that is listed twice, a share that is
/// negative or no number.
pub(crate) fn parse(text: &str, cells: &[Cell]) -> Result<Vec<(u32, u32, f64)>, String> {
    let (head, rows) = table(text)?;
    let needed = |name: &str| {
        let found = head.iter().position(|c| c.eq_ignore_ascii_case(name));
        let columns: String = head.join(", ").chars().take(MOST_SHOWN).collect();
        found.ok_or_else(|| format!("the header has no column {name:?}; found {columns}"))
    };
    let ends = [needed("from")?, needed("to")?];
    let share = needed("share")?;
    if rows.len() > MAX_ROWS {
        return Err(format!("{} rows; allowed: at most {MAX_ROWS}", rows.len()));
    }
    let numbers: BTreeMap<&str, u32> = (0..).zip(cells).map(|(n, c)| (c.name.as_str(), n)).collect();
    let (mut found, mut seen) = (Vec::with_capacity(rows.len()), BTreeSet::new());
    for (line, row) in rows {
        let cell = |column: usize| {
            let name = row[column].as_ref();
            let unknown = || {
                let hint = suggestions::hint(name, numbers.keys().copied());
                let hint = hint.map_or_else(String::new, |h| format!("; {h}"));
                format!("line {line}: {} is {name:?}; expected the name of a cell{hint}", head[column])
            };
            numbers.get(name).copied().ok_or_else(unknown)
        };
        let (from, to) = (cell(ends[0])?, cell(ends[1])?);
        if from == to {
            return Err(format!("line {line}: from and to are both {:?}; expected two cells", row[ends[0]]));
        }
        if !seen.insert((from, to)) {
            return Err(format!("line {line}: {:?} to {:?} is listed twice", row[ends[0]], row[ends[1]]));
        }
        found.push((from, to, number(&row, share, &head, line, (0.0, 1e12))?));
    }
    match found.iter().any(|s| s.2 > 0.0) {
        true => Ok(found),
        false => Err("no row has a share above zero".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_timeline::GeoPoint;

    #[test]
    fn names_with_commas_are_quoted() {
        let place = GeoPoint { lat_deg: 0.0, lon_deg: 0.0, height_m: 0.0 };
        let cell = |name: &str| Cell { name: name.into(), place, population: 1.0, terminals: 1.0 };
        let cells = [cell("Washington, D.C."), cell("Lagos")];
        let read = |text: &str| parse(text, &cells);
        let quoted = "from,to,share\n\"Washington, D.C.\",Lagos,2\nLagos,\"Washington, D.C.\",1\n";
        assert_eq!(read(quoted).unwrap(), [(0, 1, 2.0), (1, 0, 1.0)]);
        let e = read("from,to,share\nWashington, D.C.,Lagos,2\n").unwrap_err();
        assert!(e.starts_with("line 2: 4 cells, the header has 3"), "{e}");
    }
}
