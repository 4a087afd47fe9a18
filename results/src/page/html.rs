//! A page in the making. What comes from a run goes through [`Html::paragraph`] and its like, which escape it.

use crate::text::escape;

/// The page's style.
const STYLE: &str = include_str!("style.css");
/// Nothing is loaded from anywhere, whatever the page may come to hold.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// What a section is linked by.
fn id(heading: &str) -> String {
    heading.to_lowercase().replace(' ', "-")
}

/// Rows from which on a table scrolls in a box of its own, so that it does not bury what follows.
const TALL: usize = 30;

/// A page's text so far.
#[derive(Default)]
pub(crate) struct Html(String);

impl Html {
    /// Markup of this program's own.
    pub fn raw(&mut self, markup: &str) {
        self.0.push_str(markup);
    }

    /// The page's beginning, up to its own content.
    pub fn open(&mut self, title: &str) {
        self.raw(&format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n",
            escape(title)
        ));
    }

    /// The page's end.
    pub fn close(&mut self) {
        self.raw("</main>\n</body>\n</html>\n");
    }

    /// A section's heading.
    pub fn heading(&mut self, text: &str) {
        self.raw(&format!("<h2 id=\"{}\">{}</h2>\n", id(text), escape(text)));
    }

    /// Links to sections, by their headings.
    pub fn contents(&mut self, headings: &[&str]) {
        self.raw("<nav aria-label=\"Contents\">\n");
        for heading in headings {
            self.raw(&format!("<a href=\"#{}\">{}</a>\n", id(heading), escape(heading)));
        }
        self.raw("</nav>\n");
    }

    /// A heading within a section.
    pub fn subheading(&mut self, text: &str) {
        self.raw(&format!("<h3>{}</h3>\n", escape(text)));
    }

    /// A paragraph.
    pub fn paragraph(&mut self, text: &str) {
        self.raw(&format!("<p>{}</p>\n", escape(text)));
    }

    /// A line to copy.
    pub fn command(&mut self, text: &str) {
        self.raw(&format!("<pre><code>{}</code></pre>\n", escape(text)));
    }

    /// A table. Columns whose head begins with `#` hold numbers.
    pub fn table<const N: usize>(
        &mut self,
        caption: &str,
        heads: [&str; N],
        rows: impl IntoIterator<Item = [String; N]>,
    ) {
        let rows: Vec<[String; N]> = rows.into_iter().collect();
        // A box that scrolls can be reached, and scrolled, from a keyboard.
        let wide = if rows.len() > TALL {
            "wide tall\" tabindex=\"0\" role=\"region"
        } else {
            "wide"
        };
        let class = |i: usize| {
            if heads[i].starts_with('#') {
                " class=\"number\""
            } else {
                ""
            }
        };
        let caption = escape(caption);
        self.raw(&format!("<div class=\"{wide}\" aria-label=\"{caption}\">\n<table>\n<caption>{caption}</caption>\n<thead><tr>"));
        for (i, head) in heads.iter().enumerate() {
            self.raw(&format!(
                "<th scope=\"col\"{}>{}</th>",
                class(i),
                escape(head.trim_start_matches('#'))
            ));
        }
        self.raw("</tr></thead>\n<tbody>\n");
        for row in &rows {
            self.raw("<tr>");
            for (i, cell) in row.iter().enumerate() {
                let (open, close) = if i == 0 {
                    ("th scope=\"row\"", "th")
                } else {
                    ("td", "td")
                };
                self.raw(&format!("<{open}{}>{}</{close}>", class(i), escape(cell)));
            }
            self.raw("</tr>\n");
        }
        self.raw("</tbody>\n</table>\n</div>\n");
    }

    /// The page.
    pub fn text(self) -> String {
        self.0
    }
}
