//! Reading the tables of a page of the specification. Only as much Markdown as those pages need.

/// The tables of a page that have one and the same header.
pub(crate) struct Page {
    tables: Vec<Table>,
}

struct Table {
    header: Vec<String>,
    rows: Vec<Row>,
}

/// One row; the cells as they are written.
pub(crate) struct Row {
    cells: Vec<String>,
}

impl Page {
    /// Reads `text`, whose tables have these headers and no others.
    pub(crate) fn read(text: &str, headers: &[&[&str]]) -> Self {
        let mut tables: Vec<Table> = Vec::new();
        let mut is_inside = false;
        for line in text.lines() {
            let cells = cells(line);
            match (&cells, is_inside) {
                (None, _) => {}
                (Some(header), false) => tables.push(Table { header: header.clone(), rows: Vec::new() }),
                (Some(rule), true) if rule.iter().all(|cell| cell == "---") => {}
                (Some(cells), true) => {
                    let table = tables.last_mut().expect("a row stands inside a table");
                    assert_eq!(cells.len(), table.header.len(), "the cells of {line}");
                    table.rows.push(Row { cells: cells.clone() });
                }
            }
            is_inside = cells.is_some();
        }
        for table in &tables {
            assert!(headers.contains(&&*table.words()), "no test reads the table {:?}", table.header);
            assert!(!table.rows.is_empty(), "the table {:?} has no rows", table.header);
        }
        Page { tables }
    }

    /// The rows of the tables with this header.
    pub(crate) fn rows(&self, header: &[&str]) -> Vec<&Row> {
        let tables = self.tables.iter().filter(|table| table.words() == header);
        let rows: Vec<&Row> = tables.flat_map(|table| &table.rows).collect();
        assert!(!rows.is_empty(), "the page has no table {header:?}");
        rows
    }
}

impl Table {
    fn words(&self) -> Vec<&str> {
        self.header.iter().map(String::as_str).collect()
    }
}

impl Row {
    /// The text of one cell, outside of code and all.
    pub(crate) fn text(&self, column: usize) -> &str {
        &self.cells[column]
    }

    /// The codes in one cell, with `\u{…}` replaced by the character.
    pub(crate) fn codes(&self, column: usize) -> Vec<String> {
        codes(&self.cells[column])
    }

    /// The one code that a cell holds.
    pub(crate) fn code(&self, column: usize) -> String {
        let codes = self.codes(column);
        let [code] = codes.as_slice() else { panic!("one code, not {:?}", self.cells) };
        code.clone()
    }
}

/// The cells of a line that belongs to a table.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.strip_prefix('|')?.strip_suffix('|').expect("a row ends with |");
    Some(inner.split('|').map(|cell| cell.trim().to_owned()).collect())
}

/// Code stands between two runs of as many backticks.
fn codes(cell: &str) -> Vec<String> {
    let mut codes = Vec::new();
    let mut rest = cell;
    while let Some(start) = rest.find('`') {
        let run = rest[start..].bytes().take_while(|byte| *byte == b'`').count();
        let (mark, inner) = rest[start..].split_at(run);
        let end = inner.find(mark).expect("code ends");
        codes.push(with_characters(&inner[..end]));
        rest = &inner[end + run..];
    }
    codes
}

fn with_characters(code: &str) -> String {
    let Some((before, behind)) = code.split_once(r"\u{") else { return code.to_owned() };
    let (digits, rest) = behind.split_once('}').expect("a closing brace");
    let code = u32::from_str_radix(digits, 16).expect("a number");
    format!("{before}{}{}", char::from_u32(code).expect("a character"), with_characters(rest))
}
