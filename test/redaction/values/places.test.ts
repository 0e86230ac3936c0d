import { describe, expect, it } from "vitest";
import type { LogRecord } from "../../../src/checkpoint/records/Entry.ts";
import { redactedPath } from "../../../src/internal/options/redactedPath.ts";
import { AppendRedactor } from "../../../src/redaction/log/AppendRedactor.ts";
import { ShownValues } from "../../../src/redaction/redaction.ts";
import { KnownSecrets, SecretsOfAgents } from "../../../src/redaction/values/KnownSecrets.ts";

const rulesOf = (paths: readonly string[]) => ({ paths: paths.map((path) => redactedPath(path) ?? []) });

/** Returns the stored values of notes as text. */
function stored(path: string, ...values: readonly unknown[]): string {
  const redactor = new AppendRedactor(rulesOf([path]), new KnownSecrets());
  return values
    .map((value) => {
      const records = [{ kind: "note", key: "k", value }] as unknown as LogRecord[];
      const { append, hidden } = redactor.redact({ id: "1", records });
      for (const each of hidden) each.token = "[hidden]";
      return JSON.stringify(append.records);
    })
    .join("\n");
}

describe("a short value", () => {
  it("is redacted as the first item of a pair", () => {
    const text = stored("charge.output.rows.*.0", { toolName: "charge", output: { rows: [["I-22", 5]] } });
    expect(text).toContain('[["[hidden]",5]]');
  });

  it.each(["input.pin", "inputRequest.pin"])("is redacted in the status of a queued task, with the rule %s", (path) => {
    const redactor = new AppendRedactor(rulesOf([path]), new KnownSecrets());
    const data = { inputRequest: { pin: "1234" } };
    const summary = { agentId: "a", status: "queued", data, order: 1 };
    const { append, hidden } = redactor.redact({ id: "1", records: [], summary: summary as never });
    expect(JSON.stringify(append.summary)).toContain("inputRequest");
    expect(hidden.map(({ json }) => json)).toEqual(['"1234"']);
  });

  it("is redacted in the event about a queued task", () => {
    const shown = new ShownValues(rulesOf(["input.pin"]), new SecretsOfAgents());
    const event = { type: "status_changed", agentId: "a", status: "queued", data: { inputRequest: { pin: "1234" } } };
    expect(shown.of("a", event)).toEqual({ ...event, data: { inputRequest: { pin: "[redacted]" } } });
  });
});

describe("a call whose input is no JSON", () => {
  const cut = '{"card":"C-11';

  it.each<[string, string, object]>([
    [
      "a part of a message",
      "charge.input.card",
      { type: "tool-call", toolCallId: "1", toolName: "charge", input: cut },
    ],
    ["an item", "charge.input.card", { type: "function_call", call_id: "1", name: "charge", arguments: cut }],
    ["a part of an input", "charge.input.card.number", { toolName: "charge", input: { card: cut } }],
    ["an output", "charge.output.card", { toolName: "charge", output: [{ type: "text", text: cut }] }],
  ])("is redacted as a whole in %s", (_name, path, value) => {
    expect(stored(path, value)).not.toContain("C-11");
    expect(stored("other.input.card", value)).toContain("C-11");
  });

  it("is redacted as a whole in its record", () => {
    const redactor = new AppendRedactor(rulesOf(["charge.input.card"]), new KnownSecrets());
    const records = [{ kind: "call", call: "1", tool: "charge", input: cut }] as unknown as LogRecord[];
    expect(redactor.redact({ id: "1", records }).hidden.map(({ json }) => json)).toContain(JSON.stringify(cut));
  });
});

describe("a call in the format of another runtime", () => {
  const input = { card: "C-11" };
  const output = { card: "C-11" };
  const rules = ["charge.input.card", "charge.output.card"];
  const text = JSON.stringify(input);

  it.each<[string, string | undefined, readonly object[]]>([
    ["a hosted call", rules[0], [{ type: "hosted_tool_call", id: "1", name: "charge", arguments: text }]],
    ["the output of a hosted call", rules[1], [{ type: "hosted_tool_call", id: "1", name: "charge", output: text }]],
    ["the output of an MCP call", rules[1], [{ type: "mcp_call", name: "charge", arguments: "{}", output: text }]],
    ["a custom call", rules[0], [{ type: "custom_tool_call", call_id: "1", name: "charge", input: text }]],
    [
      "a result of a function",
      rules[1],
      [
        {
          role: "assistant",
          tool_calls: [{ id: "call_7", type: "function", function: { name: "charge", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "call_7", content: text },
      ],
    ],
    ["the input of a part for a user interface", rules[0], [{ type: "tool-charge", toolCallId: "1", input }]],
    ["the output of a part for a user interface", rules[1], [{ type: "tool-charge", toolCallId: "1", output }]],
    ["the raw input of a part", rules[0], [{ type: "tool-charge", toolCallId: "1", rawInput: input }]],
    ["an older result of the AI SDK", rules[1], [{ type: "tool-result", toolName: "charge", result: output }]],
  ])("is redacted in %s", (_name, path = "", values) => {
    expect(stored(path, ...values)).not.toContain("C-11");
    expect(stored(path.replace("charge", "other"), ...values)).toContain("C-11");
  });

  it.each<[string, readonly object[]]>([
    ["without a known call", []],
    [
      "of two calls with one id",
      [
        { id: "call_0", name: "charge", args: {} },
        { id: "call_0", name: "look", args: {} },
      ],
    ],
  ])("has a result %s redacted as a whole, if a tool has rules", (_name, calls) => {
    const values = [...calls, { role: "tool", tool_call_id: "call_0", content: "C-11" }];
    expect(stored("charge.output.card", ...values)).not.toContain("C-11");
    expect(stored("charge.input.card", ...values)).toContain("C-11");
  });
});
