import { describe, expect, it } from "vitest";
import { redactedPath } from "../../../src/internal/options/redactedPath.ts";
import { Redaction } from "../../../src/timeline/options/Redaction.ts";

const hiding = () => new Redaction([], true);

describe("values of a vault", () => {
  it("are shown without their encrypted form, even if secrets are shown", () => {
    const stored = {
      text: "card **** [redacted:YQ.ZDdm.pw-_Bz]",
      card: "[redacted:YQ.ZDdm.pwBz]",
      other: "[redacted:]",
    };
    for (const hidesSecrets of [true, false])
      expect(new Redaction([], hidesSecrets).value(stored, [])).toEqual({
        text: "card **** [redacted]",
        card: "[redacted]",
        other: "[redacted:]",
      });
  });
});

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
    ["a password of an address without a user", "pa55word", "redis://:"],
    ["a password with an at sign", "p@55word", "postgres://user:"],
    ["a PGP key", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF\n-----END PGP PRIVATE KEY BLOCK-----"],
    ["a key that is longer than any", `sk-${"a1".repeat(500)}`],
    ["a password that is longer than any", "ab1".repeat(500), "password: "],
    ["JSON within JSON", "hunter2hunter2", String.raw`{\"password\":\"`],
    ["a header of another scheme", "abcdefghijkl", "Authorization: ApiKey "],
    ["a cookie", "sid=abcdef; other=ghijkl", "Cookie: "],
    ["the password of a connection string", "hunter2hunter2", "Server=db;Pwd="],
    ["a token of a model host", `hf_${"a".repeat(34)}`],
    ["the signature of an address", "ab%2Bcdefghij", "https://host/file?sig="],
    ["a token behind an underscore", `ghp_${"a".repeat(36)}`, "_"],
    ["a key of a payment provider", `sk_live_${"a1".repeat(12)}`],
    ["a key of a mail provider", `SG.${"a".repeat(22)}.${"b".repeat(43)}`],
    ["a key of a chat", `xoxb-${"1".repeat(24)}`],
    ["a key of AGE", `AGE-SECRET-KEY-1${"Q".repeat(58)}`],
    ["a web token behind a word", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "token_"],
  ])("%s is hidden in the middle of a text", (_name, secret, before = "") => {
    const redaction = hiding();
    const text = redaction.text(`before ${before}${secret}@ after`);
    expect(text).not.toContain(secret);
    expect(text).toMatch(/^before .*\[hidden\]/s);
    expect(redaction.hidden.secrets).toBe(1);
  });

  it("ids of tool calls are shown, even if one starts like a key", () => {
    const message = { role: "tool", content: [{ type: "tool-result", toolCallId: "rk-wsthfAJ6bHJF8Ed8XQD" }] };
    expect(hiding().value([message], [])).toEqual([message]);
    const other = { toolCallId: `rk-${"a1".repeat(20)}`, id: "rk-wsthfAJ6bHJF8Ed8XQD" };
    expect(hiding().value(other, [])).toEqual({ toolCallId: "[hidden]", id: "[hidden]" });
  });

  it("values are hidden by name in any spelling, with all nested values", () => {
    const value = { apiKey: "abc", "X-API-KEY": "abc", db_password: "abc", credentials: { of: ["abc"] }, token: "abc" };
    const more = {
      GITHUB_TOKEN: "abc",
      csrfToken: "abc",
      signingKey: "abc",
      PGPASS: "abc",
      clientsecret: "abc",
      seedPhrase: "abc",
    };
    expect(JSON.stringify(hiding().value({ ...value, ...more }, []))).not.toContain("abc");
    expect(hiding().value({ pin: 918_273, otp: 1234 }, [])).toEqual({ pin: "[hidden]", otp: "[hidden]" });
    expect(hiding().value("abc", ["storage", "password"])).toBe("[hidden]");
    expect(
      hiding().value(
        [
          ["authorization", "abc"],
          ["b", "c"],
        ],
        [],
      ),
    ).toEqual([
      ["authorization", "[hidden]"],
      ["b", "c"],
    ]);
    expect(hiding().value({ name: "Authorization", value: "abc" }, [])).toMatchObject({ value: "[hidden]" });
    expect(hiding().value({ [`sk-${"a1".repeat(20)}`]: 1 }, [])).toEqual({ "[hidden]": 1 });
    expect(hiding().value({ kind: "storage", key: "apiKey", value: "abc" }, [])).toMatchObject({ value: "[hidden]" });
  });

  it("values that are not JSON are hidden by name", () => {
    const url = new URL("https://a.example/reset/abc");
    const value = { privateKey: new Uint8Array([1, 2]), pin: 1234n, token: url, passwords: [new Date(5), new Map()] };
    const hidden = { privateKey: "[hidden]", pin: "[hidden]", token: "[hidden]", passwords: ["[hidden]", new Map()] };
    expect(hiding().value(value, [])).toEqual(hidden);
    const { privateKey, pin } = value;
    expect(hiding().value({ key: privateKey, count: pin }, [])).toEqual({ key: privateKey, count: pin });
  });

  it("a URL with a hidden host becomes a text", () => {
    const host = `sk-${"a1".repeat(20)}`;
    expect(hiding().value(new URL(`https://${host}.example/a`), [])).toBe("https://[hidden].example/a");
    expect(hiding().value(new URL(`https://a.example/${host}`), [])).toEqual(new URL("https://a.example/[hidden]"));
  });

  it("ordinary text stays", () => {
    const value = {
      inputTokens: 12,
      maxTokens: 100,
      author: "Kim",
      keyboard: "qwerty",
      passenger: "Alex",
      passwordless: "yes",
      secretary: "Kim",
      cookieRecipe: "flour",
      authorizationUrl: "https://example.com",
      bypass: "road",
      tokenizer: "bpe-wordpiece",
      keyOf: "storage",
      text: "a task-runner",
    };
    expect(hiding().value(value, [])).toEqual(value);
    expect(new Redaction([], false).value({ password: "abc" }, [])).toEqual({ password: "abc" });
  });

  it("megabytes that resemble the start of a secret are searched in linear time", () => {
    const starts = [
      "-----BEGIN PRIVATE KEY-----",
      "eyJ",
      "eyJ-",
      "eyJaaaaaaaa.",
      "://a:",
      "password=",
      "Bearer ",
      "sk-",
    ];
    for (const text of [...starts, "cookie=", "authorization: ", "token", "SG.", "1".repeat(10)]) {
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

  it("match at any depth, with a star for any key", () => {
    const value = { a: { user: { email: "x", name: "y" } }, list: [{ email: "z" }] };
    expect(redaction("user.email", "list.*.email").value(value, [])).toEqual({
      a: { user: { email: "[hidden]", name: "y" } },
      list: [{ email: "[hidden]" }],
    });
  });

  it("of a tool's input hide it in calls and messages", () => {
    const hiding = redaction("signUp.input.email");
    const part = { type: "tool-call", toolName: "signUp", input: { email: "x" } };
    expect(hiding.value({ email: "x" }, ["signUp", "input"])).toEqual({ email: "[hidden]" });
    expect(hiding.value([{ content: [part] }], ["messages"])).toMatchObject([
      { content: [{ input: { email: "[hidden]" } }] },
    ]);
    expect(hiding.hidden).toMatchObject({ redacted: 2, paths: ["signUp.input.email"] });
  });

  it("follow keys through lists and maps and hide all nested values", () => {
    const value = { list: [{ email: "x" }], map: [["user", { email: "y" }]], "user.email": "z" };
    expect(redaction("list.email", "map.user.email", "user\\.email").value(value, [])).toEqual({
      list: [{ email: "[hidden]" }],
      map: [["user", { email: "[hidden]" }]],
      "user.email": "[hidden]",
    });
    expect(redaction("storage").value({ a: 1 }, ["storage", "profile"])).toBe("[hidden]");
    expect(redaction("signUp").value({ name: "x" }, ["signUp", "output"])).toBe("[hidden]");
  });

  it("without a match are reported", () => {
    const hiding = redaction("a.b", "a.c", "d\\.e");
    hiding.value({ a: { b: 1 } }, []);
    expect(hiding.hidden).toMatchObject({ redacted: 1, paths: ["a.b", "a.c", "d\\.e"], idle: ["a.c", "d\\.e"] });
  });

  it("without a key are invalid", () => {
    expect(["", ".", "a..b", "*", "*.*"].map(redactedPath)).toEqual(Array.from({ length: 5 }, () => undefined));
  });
});
