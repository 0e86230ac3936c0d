import type { Message } from "agent-persistence";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isTrimmed, planTrimming, resultsOf, trimmedKey } from "../../../src/persistence/trimming/trimHistory.ts";

const user = (content: string): Message => ({ role: "user", content });
const asks = (...calls: readonly string[]): Message => ({
  role: "assistant",
  content: calls.map((toolCallId) => ({ type: "tool-call", toolCallId, toolName: "t", input: {} })),
});
const gives = (...calls: readonly string[]): Message => ({
  role: "tool",
  content: calls.map((toolCallId) => ({ type: "tool-result", toolCallId, toolName: "t", output: `of ${toolCallId}` })),
});
const system: Message = { role: "system", content: "be kind" };

const callsOf = (messages: readonly Message[]) =>
  messages.flatMap(({ role, content }) =>
    role === "assistant" && typeof content !== "string"
      ? content.flatMap((part) => (part.type === "tool-call" ? part.toolCallId : []))
      : [],
  );
const answersOf = (messages: readonly Message[]) => messages.flatMap(resultsOf).map(({ toolCallId }) => toolCallId);

/** What a plan comes to, as it is carried out. */
function carriedOut(messages: readonly Message[], plan: ReturnType<typeof planTrimming>): readonly Message[] {
  const last = plan.older.at(-1);
  const shortened = new Set<unknown>(plan.outputs);
  return messages.flatMap((message): readonly Message[] => {
    if (message === last) return [user("summary")];
    if (plan.older.includes(message)) return [];
    if (message.role !== "tool") return [message];
    const content = message.content.map((part) =>
      shortened.has(part) ? { ...part, output: "short", providerOptions: { [trimmedKey]: {} } } : part,
    );
    return [{ ...message, content } as Message];
  });
}

describe("the trimming plan", () => {
  it.each<[string, readonly Message[], { toolOutputs: number; messages: number }, readonly string[], number]>([
    ["an empty history", [], { toolOutputs: 0, messages: 0 }, [], 0],
    ["a short history", [user("a"), asks("1"), gives("1")], { toolOutputs: 1, messages: 3 }, [], 0],
    ["older outputs", [asks("1"), gives("1"), asks("2"), gives("2")], { toolOutputs: 1, messages: 9 }, ["1"], 0],
    ["one of two outputs in a message", [asks("1", "2"), gives("1", "2")], { toolOutputs: 1, messages: 9 }, ["1"], 0],
    ["older messages", [user("a"), user("b"), user("c")], { toolOutputs: 5, messages: 1 }, [], 2],
    ["no single older message", [user("a"), user("b")], { toolOutputs: 5, messages: 1 }, [], 0],
    ["no system message", [system, user("a"), user("b"), system, user("c")], { toolOutputs: 5, messages: 1 }, [], 2],
    ["whole turns", [user("a"), user("b"), asks("1"), gives("1"), user("c")], { toolOutputs: 5, messages: 2 }, [], 2],
    [
      "no message after an open call",
      [user("a"), asks("1"), user("b"), user("c")],
      { toolOutputs: 5, messages: 1 },
      [],
      0,
    ],
    [
      "outputs that leave only once",
      [user("a"), asks("1"), gives("1"), user("b")],
      { toolOutputs: 0, messages: 1 },
      [],
      3,
    ],
  ])("for one history: %s", (_name, messages, limits, outputs, older) => {
    const plan = planTrimming(messages, limits);
    expect(plan.outputs.map(({ toolCallId }) => toolCallId)).toEqual(outputs);
    expect(plan.older).toHaveLength(older);
  });

  const turn = fc.oneof(
    fc.constant("user"),
    fc.constant("system"),
    fc.record({ calls: fc.integer({ min: 1, max: 3 }), open: fc.nat(3), split: fc.boolean(), between: fc.boolean() }),
  );
  let made = 0;
  const history = fc.array(turn, { maxLength: 25 }).map((turns) =>
    turns.flatMap((one): Message[] => {
      if (one === "system") return [{ ...system }];
      if (typeof one === "string") return [user(`${made++}`)];
      const ids = Array.from({ length: one.calls }, () => `${made++}`);
      const answered = ids.slice(0, Math.max(0, ids.length - Math.max(0, one.open - 2)));
      const replies = one.split ? answered.map((id) => gives(id)) : answered.length > 0 ? [gives(...answered)] : [];
      return [asks(...ids), ...(one.between ? [user("meanwhile")] : []), ...replies];
    }),
  );
  const limits = fc.record({ toolOutputs: fc.nat(6), messages: fc.nat(10) });

  it("keeps the newest messages, separates no call from its result, and is empty the second time", () => {
    fc.assert(
      fc.property(history, limits, (messages, allowed) => {
        const plan = planTrimming(messages, allowed);
        const after = carriedOut(messages, plan);
        const counted = messages.filter(({ role }) => role !== "system");
        const kept = allowed.messages === 0 ? [] : counted.slice(-allowed.messages);
        expect(kept.filter((message) => plan.older.includes(message))).toEqual([]);
        const newest = allowed.toolOutputs === 0 ? [] : messages.flatMap(resultsOf).slice(-allowed.toolOutputs);
        expect(newest.filter((result) => plan.outputs.includes(result))).toEqual([]);
        expect(after.filter(({ role }) => role === "system")).toEqual(messages.filter(({ role }) => role === "system"));
        const open = (list: readonly Message[]) => callsOf(list).filter((call) => !answersOf(list).includes(call));
        expect(open(after)).toEqual(open(messages));
        expect(answersOf(after).filter((call) => !callsOf(after).includes(call))).toEqual([]);
        const older = after
          .flatMap(resultsOf)
          .slice(0, Math.max(0, after.flatMap(resultsOf).length - allowed.toolOutputs));
        expect(older.filter((result) => !isTrimmed(result))).toEqual([]);
        expect(planTrimming(after, allowed)).toEqual({ outputs: [], older: [] });
      }),
      { numRuns: 500 },
    );
  });
});
