import { tool, type Message, type PromptExecutor } from "agent-persistence";
import { emptyState } from "../../../src/checkpoint/state/AgentState.ts";
import { ValueReader } from "../../../src/checkpoint/state/ValueReader.ts";
import { missingToolResults } from "../../../src/persistence/starting/startRecorder.ts";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defaultLoop } from "../support/defaultLoop.ts";
import { durableAgent, Fault, Stopped } from "../support/durableAgent.ts";
import { storages } from "../support/storages.ts";

/** The results that answer each call of a history, by what the call asked for. */
function resultsIn(messages: readonly Message[]): unknown[] {
  return messages.flatMap((message, at) => {
    if (message.role !== "assistant" || typeof message.content === "string") return [];
    const next = messages[at + 1];
    const results = next?.role === "tool" ? next.content : [];
    return message.content.map((part) => {
      if (part.type !== "tool-call") return part;
      const result = results.find((found) => found.type === "tool-result" && found.toolCallId === part.toolCallId);
      return [part.input, result?.type === "tool-result" ? result.output : undefined];
    });
  });
}

describe("missing tool results", () => {
  const call = (toolCallId: string) => ({ type: "tool-call" as const, toolCallId, toolName: "add", input: {} });
  const result = (toolCallId: string) => ({ type: "tool-result" as const, toolCallId, toolName: "add", output: 1 });
  const asked: Message = { role: "assistant", content: [{ type: "text", text: "so" }, call("1"), call("2")] };
  const ended = new Map([
    [
      "2",
      {
        call: "2",
        visit: [0, 0] as const,
        order: 0,
        outcome: { kind: "outcome", lane: 1, visit: [0, 0], call: "2", output: "two" } as const,
      },
    ],
  ]);
  const state = { ...emptyState, calls: ended };
  const reader = new ValueReader(state, new Map());

  it.each<[string, readonly Message[], unknown]>([
    ["nothing", [], undefined],
    ["text", [{ role: "assistant", content: "hello" }], undefined],
    ["calls that were answered", [asked, { role: "tool", content: [result("1"), result("2")] }], undefined],
    ["calls that a person ignored", [asked, { role: "user", content: "and?" }], undefined],
    [
      "open calls",
      [asked],
      [
        ["1", expect.stringMatching(/no result/), true],
        ["2", "two", undefined],
      ],
    ],
    ["an answered call and an open call", [asked, { role: "tool", content: [result("1")] }], [["2", "two", undefined]]],
  ])("are added to a history after %s", (_name, messages, expected) => {
    const closing = missingToolResults(messages, state.calls, reader);
    const parts = closing?.content.map(
      (part) => part.type === "tool-result" && [part.toolCallId, part.output, part.isError],
    );
    expect(parts).toEqual(expected);
  });
});

describe.each(storages)("a run that continues the messages of an abandoned run, on storage in $name", ({ open }) => {
  it("closes the open calls, with their result if it is known", async () => {
    const opened = await open();
    const fault = new Fault();
    const seen: (readonly Message[])[] = [];
    const turns = [
      [{ toolName: "add", input: { item: "a" } }],
      [
        { toolName: "add", input: { item: "b" } },
        { toolName: "add", input: { item: "broken" } },
      ],
    ];
    const add = tool({
      name: "add",
      description: "",
      inputSchema: z.object({ item: z.string() }),
      effect: "idempotent",
      execute: ({ item }) => {
        if (item === "broken") throw new RangeError("broken");
        return `added ${item}`;
      },
    });
    const model: PromptExecutor = {
      execute: async ({ messages }) => {
        seen.push(messages);
        const calls = turns[seen.length - 1];
        const content = calls?.map((call, at) => ({ type: "tool-call" as const, toolCallId: `${at}`, ...call }));
        if (seen.length === 3) fault.strike();
        return { message: { role: "assistant", content: content ?? "done" } };
      },
    };
    const build = () => durableAgent(defaultLoop, opened(), { model, tools: [add] });
    await expect(build().run("one")).rejects.toBeInstanceOf(Stopped);
    fault.repair();
    const result = await build().run("two", { unfinished: "abandon", history: "continue" });
    expect(result).toMatchObject({ output: "done" });
    const last = seen.at(-1) ?? [];
    expect(resultsIn(last)).toEqual([
      [{ item: "a" }, "added a"],
      [{ item: "b" }, "added b"],
      [{ item: "broken" }, "broken"],
    ]);
    expect(last.at(-1)).toEqual({ role: "user", content: "two" });
    const latest = await durableAgent(defaultLoop, opened(), { model }).resume();
    expect(latest).toMatchObject({ output: "done" });
  });
});
