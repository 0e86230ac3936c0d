/** A message as an agent keeps it. */
export interface BenchMessage {
  readonly role: "assistant";
  readonly content: string;
}

const words =
  `agent said “yes” and wrote C:\\temp\\log.txt, naïve café über straße, 数据库 миграция, {"id": 7, "tags": ["a", "b"]} ` +
  `then\tthe\tquery returned 42 rows; const line = "it's \\"quoted\\""; résumé — done ✓ 😀 while the build went on and on ` +
  `until every test of the module had passed and nobody asked for another one`;
const vocabulary = words.split(" ");

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
  let content = `Step ${step}:`;
  let size = 40;
  while (size < 2_048) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const word = vocabulary[state % vocabulary.length] ?? "";
    const next = state % 17 === 0 ? `\n${word}` : ` ${word}${state % 997}`;
    content += next;
    size += Buffer.byteLength(JSON.stringify(next)) - 2;
  }
  return { role: "assistant", content };
}

/** The bytes of the messages of steps 1 to `steps`. */
export function messageBytes(steps: number): number {
  let total = 0;
  for (let step = 1; step <= steps; step++) total += bytesOf(messageOf(step));
  return total;
}
