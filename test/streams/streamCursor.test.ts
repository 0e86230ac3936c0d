import { expect, it } from "vitest";
import { StreamCursor } from "../../src/streams/follow/StreamCursor.ts";

/** The maximum size of a request's headers in Node. */
const headerBytes = 16 * 1024;

it("is short enough for a header with the responses of 150 parallel branches, and keeps their places", () => {
  const cursor = new StreamCursor();
  for (let at = 0; at < 150; at++) {
    const branch = `research#question-${at}`;
    const agentPath = at % 50 === 49 ? ["ask"] : undefined;
    const place = { requestId: `-${at + 2}.0.0`, nodeId: at === 99 ? "other" : "research/answer", branch };
    cursor.received({ ...place, ...(agentPath && { agentPath }) }).text.add("x".repeat(1_234 + at));
  }
  const { position } = cursor;
  expect(position.length).toBeLessThan(headerBytes - 2_048);
  const read = StreamCursor.parse(position);
  expect([...read.open].map(([id, { text: _text, reasoning: _reasoning, ...place }]) => [id, place])).toEqual(
    [...cursor.open].map(([id, { text: _text, reasoning: _reasoning, ...place }]) => [id, place]),
  );
  expect(read.position).toBe(position);
  for (const { text, reasoning } of read.open.values())
    expect([text.isStartOf("x".repeat(2_000)), reasoning.isStartOf("y")]).toEqual([true, true]);
});

it("reads the positions of earlier versions, which name each node and hash empty texts", () => {
  const open = [
    ["1.0.0", "n", 2, 1, 0, 2_166_136_261, "both#a", []],
    ["2.0.0", "n", 0, 2_166_136_261, 0, 2_166_136_261],
  ];
  const text = Buffer.from(JSON.stringify([1, 1, 1, 5, open])).toString("base64url");
  const { open: read } = StreamCursor.parse(text);
  expect([...read.values()]).toMatchObject([{ nodeId: "n", branch: "both#a" }, { nodeId: "n" }]);
  expect(read.get("2.0.0")?.text.isStartOf("any")).toBe(true);
});

it("keeps an empty node after another node", () => {
  const cursor = new StreamCursor();
  for (const [at, nodeId] of ["", "n", "", ""].entries()) cursor.received({ requestId: `${at}.0.0`, nodeId });
  const read = StreamCursor.parse(cursor.position);
  expect([...read.open.values()].map(({ nodeId }) => nodeId)).toEqual(["", "n", "", ""]);
});
