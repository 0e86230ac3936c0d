import { describe, expect, it } from "vitest";
import { ValueWriter } from "../../../src/checkpoint/format/ValueWriter.ts";
import type { Message } from "../../../src/checkpoint/messages/Message.ts";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";

const answer: Message = { role: "assistant", content: "found" };
const asked: Message = { role: "user", content: "find" };
const output = { found: 1 };
const result: Message = {
  role: "tool",
  content: [{ type: "tool-result", toolCallId: "c", toolName: "t", output }],
};

/** A writer of a log with an answer and an outcome on lane 2. */
function noted(): ValueWriter {
  const writer = new ValueWriter({ sha256: nodeSha256 });
  writer.noteAnswer(answer, [3, 0], 1, undefined, 2);
  writer.noteOutcome("c", output, 2);
  return writer;
}

describe("a message that is already in the log", () => {
  it("is referenced on its lane, and written again on the lane of another line", () => {
    const writer = noted();
    expect(writer.message(answer, "it", 2)).toEqual({ $answer: [3, 0, 1] });
    expect(writer.message(answer, "it", 1)).toEqual(answer);
    expect(writer.message(result, "it", 2)).toMatchObject({ $outcomes: [{ part: { toolCallId: "c" } }] });
    expect(writer.message(result, "it", 2)).not.toMatchObject({ $outcomes: [{ output }] });
    expect(writer.message(result, "it", 1)).toEqual(result);
  });

  it("is referenced by its lane once that lane was joined", () => {
    const writer = noted();
    writer.noteJoined([2], [{ number: 7, message: asked }]);
    expect(writer.message(asked, "it", 1)).toEqual({ $message: [7, 2] });
    expect(writer.message(answer, "it", 1)).toEqual({ $answer: [3, 0, 1, null, 2] });
    expect(writer.input(asked, "it", 1, () => undefined)).toEqual({ $message: [7, 2] });
    expect(writer.input(asked, "it", 1, () => 9)).toEqual({ $message: 9 });
  });

  it("is referenced by the newest lane of the branch, whichever of its lanes has it", () => {
    const writer = noted();
    writer.noteJoined([2, 5], [{ number: 7, message: asked }]);
    expect(writer.message(asked, "it", 1)).toEqual({ $message: [7, 5] });
    expect(writer.message(answer, "it", 1)).toEqual({ $answer: [3, 0, 1, null, 2] });
  });

  it("is written again after a snapshot", () => {
    const writer = noted();
    writer.noteJoined([2], [{ number: 7, message: asked }]);
    writer.forget();
    for (const message of [asked, answer, result]) expect(writer.message(message, "it", 1)).toEqual(message);
  });
});

it("a result with additional rich values includes its output instead of a reference to the output", () => {
  const [part] = result.content;
  const rich = {
    ...result,
    content: [{ ...(part as object), providerOptions: { p: { at: new Date(0) } } }],
  } as unknown as Message;
  expect(JSON.stringify(noted().message(rich, "it", 2))).toContain("found");
  expect(JSON.stringify(noted().message(result, "it", 2))).not.toContain("found");
});

it("the end of a visit on one lane keeps the outcomes of other lanes", () => {
  const writer = noted();
  const refers = () => !JSON.stringify(writer.message(result, "it", 2)).includes("found");
  for (let visits = 0; visits < 5; visits++) writer.nextVisit(1);
  expect(refers()).toBe(true);
  writer.nextVisit(2);
  expect(refers()).toBe(true);
  writer.nextVisit(2);
  expect(refers()).toBe(false);
});
