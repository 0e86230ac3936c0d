import { describe, expect, it } from "vitest";
import type { LogRecord } from "../../src/checkpoint/records/Entry.ts";
import { redactedPath } from "../../src/internal/redactedPath.ts";
import { AppendRedactor } from "../../src/redaction/log/AppendRedactor.ts";
import { ShownValues } from "../../src/redaction/ShownValues.ts";
import { KnownSecrets, SecretsOfAgents } from "../../src/redaction/values/KnownSecrets.ts";

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
    const text = stored("charge.output.rows.*.0", { toolName: "charge", output: { rows: [["I-22", "b"]] } });
    expect(text).toContain('[["[hidden]","b"]]');
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
