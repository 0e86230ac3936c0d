import { describe, expect, it } from "vitest";
import { Redaction } from "../../../src/timeline/options/Redaction.ts";
import { redactedPath } from "../../../src/timeline/options/redactedPath.ts";

const hiding = () => new Redaction([], true);

describe("likely secrets", () => {
  it.each([
    ["a key of a model provider", `sk-proj-${"a1".repeat(20)}`],
    ["a token of a code host", `ghp_${"a".repeat(36)}`],
    ["a key of a cloud", "AKIAABCDEFGHIJKLMNOP"],
    ["a web token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"],
    ["a private key", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"],
    ["a line of an environment file", "hunter2hunter2", "DB_PASSWORD="],
    ["a header", "dG9rZW50b2tlbg==", "Authorization: Bearer "],
    ["a password in an address", "pa55word", "postgres://user:"],
  ])("%s is hidden in the middle of a text", (_name, secret, before = "") => {
    const redaction = hiding();
    const text = redaction.text(`before ${before}${secret}@ after`);
    expect(text).not.toContain(secret);
    expect(text).toMatch(/^before .*\[hidden\]/s);
    expect(redaction.hidden.secrets).toBe(1);
  });

  it("values are hidden by their names, however these are written, with all that is in them", () => {
    const value = { apiKey: "abc", "X-API-KEY": "abc", db_password: "abc", credentials: { of: ["abc"] }, token: "abc" };
    expect(JSON.stringify(hiding().value(value, []))).not.toContain("abc");
    expect(hiding().value({ kind: "storage", key: "apiKey", value: "abc" }, [])).toMatchObject({ value: "[hidden]" });
  });

  it("what is no secret stays", () => {
    const value = {
      inputTokens: 12,
      maxTokens: 100,
      author: "Kim",
      keyboard: "qwerty",
      passenger: "Alex",
      text: "a task-runner",
    };
    expect(hiding().value(value, [])).toEqual(value);
    expect(new Redaction([], false).value({ password: "abc" }, [])).toEqual({ password: "abc" });
  });

  it("megabytes that look like the beginning of a secret are searched in time", () => {
    for (const text of ["-----BEGIN PRIVATE KEY-----", "eyJ", "://a:", "password=", "Bearer ", "sk-"]) {
      expect(hiding().text(text.repeat(200_000)).length).toBeGreaterThan(0);
    }
  });
});

describe("paths to redact", () => {
  const redaction = (...paths: readonly string[]) =>
    new Redaction(
      paths.map((path) => redactedPath(path) ?? []),
      true,
    );

  it("match at any depth, and a star is any one key", () => {
    const value = { a: { user: { email: "x", name: "y" } }, list: [{ email: "z" }] };
    expect(redaction("user.email", "list.*.email").value(value, [])).toEqual({
      a: { user: { email: "[hidden]", name: "y" } },
      list: [{ email: "[hidden]" }],
    });
  });

  it("of a tool's input hide it in calls and in messages alike", () => {
    const hiding = redaction("signUp.input.email");
    const part = { type: "tool-call", toolName: "signUp", input: { email: "x" } };
    expect(hiding.value({ email: "x" }, ["signUp", "input"])).toEqual({ email: "[hidden]" });
    expect(hiding.value([{ content: [part] }], ["messages"])).toMatchObject([
      { content: [{ input: { email: "[hidden]" } }] },
    ]);
    expect(hiding.hidden).toMatchObject({ redacted: 2, paths: ["signUp.input.email"] });
  });

  it("that lead nowhere are none", () => {
    expect(["", ".", "a..b", "*", "*.*"].map(redactedPath)).toEqual(Array.from({ length: 5 }, () => undefined));
  });
});
