import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { storageAddress } from "../../../src/cli/storage/storageAddress.ts";
import { run } from "../support/TestTerminal.ts";

describe("the address of a storage", () => {
  it.each([
    ["file:agents", { kind: "file", folder: "/home/me/agents" }],
    ["file:///var/agents%20x", { kind: "file", folder: "/var/agents x" }],
    ["sqlite:agents.db", { kind: "sqlite", file: "/home/me/agents.db" }],
    ["dynamodb:agents", { kind: "dynamodb", table: "agents" }],
    [
      "dynamodb:agents?region=eu-west-1&endpoint=http://localhost:8000",
      { kind: "dynamodb", table: "agents", region: "eu-west-1", endpoint: "http://localhost:8000" },
    ],
    ["postgres://me@host/db", { kind: "postgres", connection: "postgres://me@host/db" }],
    [
      "postgresql://me@host/db?schema=mine&sslmode=require",
      { kind: "postgres", connection: "postgresql://me@host/db?sslmode=require", schema: "mine" },
    ],
  ])("is parsed: %s", (text, address) => {
    expect(storageAddress(text, "/home/me")).toEqual(address);
  });

  it.each([
    "",
    "agents",
    "file:",
    "mysql://host/db",
    "dynamodb:agents?colour=red",
    "postgres://[",
    "postgres:me@host/db",
    "dynamodb:?region=x",
  ])("is refused with a suggestion: %j", (text) => {
    expect(() => storageAddress(text, "/home/me")).toThrow(/is not the address of a storage: expected /);
  });
});

it.each([
  ["Postgres://me:secret@host/db", "Postgres://…@host/db"],
  ['"postgres://me:secret@host/db"', '"postgres://…@host/db"'],
  ["mysql://me:sec@ret@host/db", "mysql://…@host/db"],
  ["mysql://host/db?password=secret&x=1", "mysql://host/db?password=…&x=1"],
  ["me:secret@host/db", "me:…@host/db"],
  ["postgres:me:secret@host/db", "postgres:…"],
])("an error about an address does not contain its password: %s", (text, shown) => {
  expect(() => storageAddress(text, "/home/me")).toThrow(`"${shown}" is not the address of a storage`);
});

describe("the search for a storage", () => {
  it("checks the option, the environment and the parent directories, and reports a missing storage", async () => {
    const folder = await mkdtemp(join(tmpdir(), "agent-persistence-cli-"));
    try {
      const inner = join(folder, "a", "b");
      await mkdir(inner, { recursive: true });
      const list = (args: readonly string[], env: Record<string, string> = {}) =>
        run(["answer", ...args], { cwd: inner, env });
      expect(await list([])).toMatchObject({
        code: 2,
        err: expect.stringContaining("There is no folder .agent-persistence"),
      });
      await mkdir(join(folder, ".agent-persistence"));
      expect(await list([])).toMatchObject({ code: 0, err: "No agent has open requests.\n" });
      const wrong = { AGENT_PERSISTENCE_STORAGE: "file:nowhere" };
      expect(await list([], wrong)).toMatchObject({ code: 3, err: expect.stringContaining(join(inner, "nowhere")) });
      expect(await list(["--storage", "file:../../.agent-persistence"], wrong)).toMatchObject({ code: 0 });
      await writeFile(join(inner, "other.db"), "");
      expect(await list(["--storage", "sqlite:none.db"])).toMatchObject({ code: 3 });
      expect(await list(["--storage", "sqlite:other.db"])).toMatchObject({
        code: 3,
        err: expect.stringContaining("has no agents"),
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
