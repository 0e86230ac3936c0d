/** A message as an agent keeps it. */
export interface BenchMessage {
  readonly role: "assistant";
  readonly content: string;
}

const words =
  `agent said “yes” and wrote C:\\temp\\log.txt, naïve café über straße, 数据库 миграция, {"id": 7, "tags": ["a", "b"]} ` +
  `then\tthe\tquery returned 42 rows; const line = "it's \\"quoted\\""; résumé — done ✓ 😀 while the build went on and on ` +
  `until every test of the module had passed and nobody asked for another one`;
const vocabulary = words.split(" ").map((word) => ({ word, bytes: Buffer.byteLength(JSON.stringify(word)) - 2 }));

/** UTF-8 of `JSON.stringify(message)`: what every ratio to "the message bytes" refers to. */
export function bytesOf(message: BenchMessage): number {
  return Buffer.byteLength(JSON.stringify(message));
}

/**
 * The message of one step: about 2 KB of text as models write it, with quotes, backslashes, line breaks and letters
 * outside ASCII. The same for the same step, and different for every step, so that nothing can be stored once for all.
 */
export function messageOf(step: number): BenchMessage {
  let state = step * 2_654_435_761 + 1;
  // Joined at the end: a text that was added up piece by piece would first be copied together by whoever saves it.
  const parts = [`Step ${step}:`];
  let size = 40;
  while (size < 2_048) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const { word, bytes } = vocabulary[state % vocabulary.length] ?? { word: "", bytes: 0 };
    const digits = String(state % 997);
    parts.push(state % 17 === 0 ? "\n" : " ", word, digits);
    size += bytes + digits.length + 1;
  }
  const content = parts.join("");
  return { role: "assistant", content };
}

/** The bytes of the messages of steps 1 to `steps`. */
export function messageBytes(steps: number): number {
  let total = 0;
  for (let step = 1; step <= steps; step++) total += bytesOf(messageOf(step));
  return total;
}
