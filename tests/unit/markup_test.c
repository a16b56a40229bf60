/* Text of stores in XML and Markdown: hostile text comes out harmless, and names stay readable. */
#include "reports/page/markup.h"
#include "tests/test.h"

static void xml(void)
{
	struct strbuf sb;
	sb_init(&sb);
	markup_xml(&sb, "</script><b a=\"1\" & '\x1b[31m\xe2\x80\xae\xff", MARKUP_LINE);
	EXPECT_STR(sb.s, "&lt;/script&gt;&lt;b a=&quot;1&quot; &amp; &#39;\\x1b[31m\\u202e\\xff");
	sb_reset(&sb);
	markup_xml(&sb, "abcdef", 4);
	EXPECT_STR(sb.s, "abcd ... (2 bytes more)");
	sb_free(&sb);
}

static void text(void)
{
	struct strbuf sb;
	sb_init(&sb);
	markup_text(&sb, "a|b *c* <i> @me #1 x://y www.z\n`q`", MARKUP_LINE);
	EXPECT_STR(sb.s, "a\\|b \\*c\\* &lt;i\\> \\@<!-- -->me \\#<!-- -->1 x:<!-- -->//y w<!-- -->ww.z\\\\n\\`q\\`");
	sb_reset(&sb);
	markup_title(&sb, "`sum` of `x<y`: \"`\"");
	EXPECT_STR(sb.s, "`sum` of \\`x&lt;y\\`: \"\\`\"");
	sb_free(&sb);
}

static void code(void)
{
	struct strbuf sb;
	sb_init(&sb);
	markup_code(&sb, "a``b|c", MARKUP_LINE);
	EXPECT_STR(sb.s,
		"```a``b\xef\xbd\x9c"
		"c```");
	sb_reset(&sb);
	markup_fence(&sb, "python", "````\nx", MARKUP_BLOCK);
	EXPECT_STR(sb.s, "`````python\n````\nx\n`````\n");
	sb_free(&sb);
}

int main(void)
{
	RUN(xml);
	RUN(text);
	RUN(code);
	return TEST_END();
}
