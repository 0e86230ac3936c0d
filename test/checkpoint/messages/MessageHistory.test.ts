import { describe, expect, it } from "vitest";
import type { Message } from "../../../src/checkpoint/messages/Message.ts";
import { HistoryFold } from "../../../src/checkpoint/messages/LinkedHistory.ts";
import { type HistoryChange, MessageHistory } from "../../../src/checkpoint/messages/MessageHistory.ts";

const result = (output: unknown) =>
  ({ role: "tool", content: [{ type: "tool-result", toolCallId: "c1", toolName: "lookUp", output }] }) as Message;

const saved = (...messages: readonly Message[]) => {
  const history = new MessageHistory();
  history.append(...messages);
  history.takeChanges();
  return history;
};

describe("a rewrite", () => {
  it.each([
    ["a map", new Map([["card", "4111"]]), new Map([["card", "***"]])],
    ["a set", new Set([1]), new Set([2])],
    ["a map and an object", new Map(), {}],
    ["a date and its text", new Date(0), new Date(0).toISOString()],
    ["NaN and null", Number.NaN, null],
    ["undefined and null in an array", [undefined], [null]],
    ["the sign of zero", -0, 0],
    ["a bigint and a text", 5n, "5n"],
    ["bytes", Uint8Array.of(1), Uint8Array.of(2)],
  ])("replaces a message if only a rich value differs: %s", (_name, before, after) => {
    const history = saved(result(before));
    history.rewrite(() => [result(after)]);
    expect(history.messages).toEqual([result(after)]);
    expect(history.takeChanges()).toEqual([
      { kind: "edit", remove: [[1, 1]], insert: [{ number: 2, message: result(after) }] },
    ]);
  });

  it.each([
    ["a map", () => new Map([["card", 1n]])],
    ["bytes", () => Uint8Array.of(1, 2)],
    ["text", () => "done"],
  ])("keeps the number of a message with equal content: %s", (_name, output) => {
    const history = saved(result(output()), result("other"));
    history.rewrite((messages) => [result(output()), ...messages.slice(1)]);
    expect(history.takeChanges()).toEqual([]);
  });

  it("keeps the number of equal messages in their order", () => {
    const history = saved(result("same"), result("same"), result("other"), result("same"));
    history.rewrite(([first, , other]) => [first, result("same"), other, result("same"), result("same")] as Message[]);
    expect(history.entries.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5]);
  });

  it("does not read the content of messages that are kept by identity", () => {
    let reads = 0;
    const prototype = {
      get constructor() {
        reads++;
        return Object;
      },
    };
    const history = saved(result(Object.create(prototype)), result("other"));
    reads = 0;
    history.rewrite((messages) => messages.slice(0, 1));
    history.rewrite((messages) => [...messages, result("new")]);
    expect(reads).toBe(0);
    expect(history.entries.map(({ number }) => number)).toEqual([1, 3]);
    history.rewrite(() => [result("new")]);
    expect(reads).toBeGreaterThan(0);
  });

  it("replaces a message that cannot be stored", () => {
    const history = saved(result(() => 1));
    history.rewrite(() => [result("done")]);
    expect(history.messages).toEqual([result("done")]);
  });
});

describe("the original history", () => {
  const user = (content: string): Message => ({ role: "user", content });
  const all = ["system", "m0", "m1", "m2", "m3", "m4"];

  const trimmed = () => {
    const history = new MessageHistory();
    history.append(...all.map(user));
    history.trim(history.messages.toSpliced(1, 3, user("summary")));
    return history;
  };

  const historiesOf = (changes: readonly HistoryChange[]) => {
    const [live, original] = [new HistoryFold(), new HistoryFold()];
    for (const change of changes)
      for (const fold of change.kind === "edit" && change.trim ? [live] : [live, original])
        if (change.kind === "edit") fold.edit(change);
        else for (const entry of change.messages) fold.push(entry);
    return [live, original].map((fold) => fold.entries().map(({ message }) => (message as Message).content));
  };

  it("keeps the trimmed messages after a rewrite removes live messages around them", () => {
    const history = trimmed();
    history.rewrite((messages) => messages.slice(-1));
    expect(historiesOf(history.takeChanges())).toEqual([["m4"], ["m0", "m1", "m2", "m4"]]);
  });

  it("loses only the removed messages if messages were replaced by shorter ones", () => {
    const history = new MessageHistory();
    history.append(...all.map(user));
    history.trim(history.messages.with(2, user("short")));
    history.rewrite((messages) => messages.toSpliced(1, 1).toSpliced(2, 1));
    const left = ["system", "short", "m3", "m4"];
    expect(historiesOf(history.takeChanges())).toEqual([left, left.with(1, "m1")]);
  });
});
