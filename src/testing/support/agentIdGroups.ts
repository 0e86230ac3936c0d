/** Valid agent ids that a storage may confuse or misinterpret. */
export const agentIdGroups: Readonly<Record<string, readonly string[]>> = {
  "that are prefixes of each other": words("a aa a1 a-1 a-1-1 a-10 agent agent-1 agent-10 agent-1x"),
  "with delimiters": ["a b", ...words("a/b a/b/c a b a:b a:b:c a|b a#b a.b a,b a_b a%b a* a?b")],
  "that differ in case only": ["Run-1", "run-1", "RUN-1", "rUN-1"],
  "in Unicode": words("é e\u0301 ﬁ fi ß ss İ i\u0307 😀 \ufeffx x \u202ex x\u200b Ａ A \uffff"),
  "with spaces and control characters": [" x", "x ", ...words("x x. x\t x\n x\r\n \0 x\0 x\0y \u007f \u001b[31m")],
  "that look like paths": words(
    ".. . ../.. ../x x/.. / /etc/passwd C:\\windows \\\\host\\share ..%2fx %2e%2e ~ file:///x",
  ),
  "that look like file names": words(
    "con CON nul aux.json lpt9.txt state.json checkpoints tmp index .git x.json 1.jsonl x:y",
  ),
  "named as members of objects": words(
    "__proto__ constructor prototype toString hasOwnProperty valueOf then length 0 undefined null",
  ),
  "that look like code": [
    "'; drop table checkpoints; --",
    '" or 1=1',
    ...words("% _ `id` $(id) ${x} --help -rf {} [] <>"),
  ],
  "that are long": [
    ...[255, 256, 1_000].map((length) => "x".repeat(length)),
    `${"x".repeat(999)}y`,
    "X".repeat(1_024),
    `${"X".repeat(1_023)}Y`,
    "é".repeat(512),
  ],
};

function words(text: string): readonly string[] {
  return text.split(" ");
}
