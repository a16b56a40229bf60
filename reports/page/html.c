/* html.c: the template is ours, all that is hostile is in the JSON: so escaping is json_embed's alone. */
#include "reports/page/html.h"

#include "reports/cause/json_doc.h"

void html_page(struct strbuf *sb, const unsigned char *template_, const struct strbuf *json)
{
	static const char mark[] = "@DATA@";
	const char *text = (const char *)template_, *at = strstr(text, mark);
	CHECK(at);
	sb_put(sb, text, (size_t)(at - text));
	json_embed(sb, json->s, json->len);
	sb_puts(sb, at + strlen(mark));
}
