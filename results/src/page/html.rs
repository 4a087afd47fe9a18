//! A page in the making. What comes from a run goes through [`Html::paragraph`] and its like, which escape it.

use crate::text::escape;

/// A page's text so far.
#[derive(Default)]
pub(super) struct Html(String);

impl Html {
    /// Markup of this program's own.
    pub fn raw(&mut self, markup: &str) {
        self.0.push_str(markup);
    }

    /// A section's heading.
    pub fn heading(&mut self, text: &str) {
        self.raw(&format!("<h2>{}</h2>\n", escape(text)));
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
        let class = |i: usize| if heads[i].starts_with('#') { " class=\"number\"" } else { "" };
        self.raw(&format!("<div class=\"wide\">\n<table>\n<caption>{}</caption>\n<thead><tr>", escape(caption)));
        for (i, head) in heads.iter().enumerate() {
            self.raw(&format!("<th scope=\"col\"{}>{}</th>", class(i), escape(head.trim_start_matches('#'))));
        }
        self.raw("</tr></thead>\n<tbody>\n");
        for row in rows {
            self.raw("<tr>");
            for (i, cell) in row.iter().enumerate() {
                let (open, close) = if i == 0 { ("th scope=\"row\"", "th") } else { ("td", "td") };
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
