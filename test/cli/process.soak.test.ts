import { cpSync, mkdirSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { persistence } from "agent-persistence";
import { PostgresPersistenceStorageProvider } from "agent-persistence/postgres";
import { SqlitePersistenceStorageProvider } from "agent-persistence/sqlite";
import textWidth from "fast-string-truncated-width";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { buildCode, type BuiltPackage } from "../package/builtPackage.ts";
import { repository } from "../package/compile.ts";
import { wholeSoak } from "../soak/cases.ts";
import { databaseUrl, newSchema, pool } from "../storage/postgres/database.ts";
import { libsql } from "../storage/sqlite/libsql.ts";
import { CommandProcess, type Ended } from "./support/CommandProcess.ts";
import { TerminalProcess, terminalKinds } from "./support/TerminalProcess.ts";
import { progressOf } from "./support/TestTerminal.ts";
import { deskOn, stuck } from "./support/desk/desk.mjs";

/** Keys, the exit code, and whether the change is made. */
const answers: readonly (readonly [string, number, boolean])[] = [
  ["y", 0, true],
  ["\r", 4, false],
  ["\x03", 4, false],
];

describe("the command line as a process", () => {
  let built: BuiltPackage;
  let storage: FilePersistenceStorageProvider;
  const start = (args: readonly string[], env: Readonly<Record<string, string>> = {}): CommandProcess =>
    new CommandProcess(`${built.root}${built.bin}`, args, built.app, env);
  const command = (...args: readonly string[]): Promise<Ended> => start(args).ended();

  beforeAll(async () => {
    built = buildCode();
    cpSync(`${repository}test/cli/support/desk/desk.mjs`, `${built.app}desk.mjs`);
    const directory = join(built.app, ".agent-persistence");
    vi.stubEnv("DESK_JOURNAL", join(built.app, "desk.txt"));
    vi.stubEnv("DESK_FOLDER", directory);
    storage = new FilePersistenceStorageProvider({ directory });
    await deskOn(storage).run("an order", { agentId: "order-1" });
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await storage.log.close();
    rmSync(built.app, { recursive: true, force: true });
  });

  it("writes only data to standard output, whatever the agent's code prints", async () => {
    const [asked] = JSON.parse((await command("answer", "--json")).out) as { requestId: string }[];
    const answered = await command("answer", asked?.requestId ?? "", "--approve", "--yes", "--json");
    expect(answered).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse(answered.out)).toMatchObject({ agentId: "order-1", answer: { approved: true } });
    const refused = await command("resume", "order-1", "--agent", "desk.mjs#desk");
    expect(refused).toMatchObject({ code: 4, out: "" });
    const resumed = await command("resume", "order-1", "--agent", "desk.mjs#desk", "--yes", "--json");
    expect(JSON.parse(resumed.out)).toMatchObject({ status: "completed", output: "All is done." });
    expect(resumed).toMatchObject({ code: 0, err: "refunded 700\n" });
  });

  it("serves agents to a client of MCP, whatever the agent's code prints", async () => {
    const client = new Client({ name: "assistant", version: "1.0.0" });
    const args = [`${built.root}${built.bin}`, "mcp", "--agent", "desk.mjs#desk"];
    await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd: built.app }));
    const { content } = await client.callTool({ name: "list_agents" });
    expect(content).toMatchObject([{ type: "text", text: expect.stringContaining("order-1") }]);
    await client.close();
  });

  it.each(["SQLite", "Postgres"] as const)("serves agents in %s to a client of MCP", async (database) => {
    const schema = newSchema();
    const url = new URL(await databaseUrl());
    url.searchParams.set("schema", schema);
    const [address, there] =
      database === "SQLite"
        ? ["sqlite:agents.db", new SqlitePersistenceStorageProvider({ database: libsql(join(built.app, "agents.db")) })]
        : [url.href, new PostgresPersistenceStorageProvider({ client: await pool(), schema })];
    await deskOn(there).run("an order", { agentId: "order-9" });
    const client = new Client({ name: "assistant", version: "1.0.0" });
    const args = [`${built.root}${built.bin}`, "mcp", "--storage", address];
    await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd: built.app }));
    const { content: listed } = await client.callTool({ name: "list_agents" });
    expect(listed).toMatchObject([{ type: "text", text: expect.stringMatching(/"order-9".*"waiting"/s) }]);
    const { content: shown } = await client.callTool({ name: "show_agent", arguments: { agentId: "order-9" } });
    expect(shown).toMatchObject([{ type: "text", text: expect.stringContaining('"approval"') }]);
    await client.close();
  });

  it("names the SDK that is missing for MCP", async () => {
    const sdk = `${built.app}node_modules/@modelcontextprotocol/server`;
    const target = readlinkSync(sdk);
    rmSync(sdk);
    try {
      const { code, err } = await command("mcp");
      expect({ code, err }).toEqual({
        code: 1,
        err: expect.stringContaining("install its SDK: npm install @modelcontextprotocol/server") as string,
      });
    } finally {
      symlinkSync(target, sdk);
    }
  });

  it("accepts agents of another copy of the library", async () => {
    const other = join(built.app, "other");
    mkdirSync(join(other, "node_modules/agent-persistence"), { recursive: true });
    for (const name of ["dist", "package.json"])
      cpSync(`${built.root}${name}`, join(other, "node_modules/agent-persistence", name), { recursive: true });
    for (const name of readdirSync(`${built.app}node_modules`))
      if (name !== "agent-persistence")
        symlinkSync(`${built.app}node_modules/${name}`, join(other, "node_modules", name));
    cpSync(`${built.app}desk.mjs`, join(other, "desk.mjs"));
    await deskOn(storage).run("an order", { agentId: "order-2" });
    const asked = await command("answer", "--json", "--agent", "other/desk.mjs#desk");
    expect(JSON.parse(asked.out)).toMatchObject([{ agentId: "order-2" }]);
    const replayed = await command("replay", "order-2", "--agent", "other/desk.mjs#desk");
    expect(replayed).toMatchObject({ code: 0, out: "order-2 matches its recording: waiting.\n" });
  });

  it("follows a log while an agent writes and ends when stopped", async () => {
    const following = start(["log", "order-2", "--follow", "--json", "--kind", "reply", "checkpoint"]);
    await following.shows('"checkpoint"');
    const durable = persistence(deskOn(storage)).agent("order-2");
    for (const { requestId } of await durable.getRequests()) await durable.reject(requestId, "no");
    await following.shows('"reply"');
    await deskOn(storage).resume({ agentId: "order-2" });
    await following.shows('"status":"completed"');
    following.child.kill("SIGINT");
    const { code, out, err } = await following.ended();
    expect({ code, err }).toEqual({ code: 130, err: "" });
    for (const line of out.trimEnd().split("\n")) expect(JSON.parse(line)).toMatchObject({ records: [{}] });
  });

  it("loads a TypeScript agent if Node or a loader can, and otherwise suggests a fix", async () => {
    writeFileSync(
      join(built.app, "agent.ts"),
      'export { desk } from "./desk.mjs";\nexport const given: unknown = 1;\n',
    );
    const asking = ["answer", "--json", "--agent", "agent.ts#desk"];
    const alone = await command(...asking);
    if ((process.features as { readonly typescript?: unknown }).typescript)
      expect(alone).toMatchObject({ code: 0, err: "" });
    else
      expect(alone).toMatchObject({
        code: 2,
        err: expect.stringMatching(/cannot load the TypeScript of .*agent\.ts\. Use Node 22\.18 .*--import tsx/),
      });
    const loader = pathToFileURL(`${repository}node_modules/tsx/dist/loader.mjs`).href;
    const loaded = await start(asking, { NODE_OPTIONS: `--import=${loader}` }).ended();
    expect(loaded).toMatchObject({ code: 0, out: "[]\n", err: "" });
  });

  it("completes although its standard error is closed", async () => {
    const forking = start(["fork", "order-2", "order-3", "--yes", "--json"]);
    forking.child.stderr?.destroy();
    expect(await forking.ended()).toMatchObject({ code: 0 });
    const unread = start(["fork", "order-2", "order-4", "--yes"]);
    unread.child.stderr?.destroy();
    unread.child.stdout?.destroy();
    expect(await unread.ended()).toMatchObject({ code: 0 });
    expect((await command("list", "--json")).out).toMatch(/"order-3"[^]*"order-4"/);
  });

  describe.each(terminalKinds)("on a %s", (kind) => {
    const columns = 50;
    const isThorough = wholeSoak || kind === terminalKinds.at(-1);
    const onTerminal = (line: string, env: Readonly<Record<string, string>> = {}) =>
      new TerminalProcess(kind, line.replace("ap", `${process.execPath} ${built.root}${built.bin}`), {
        cwd: built.app,
        columns,
        env,
      });
    const isThere = (agentId: string) =>
      readdirSync(join(built.app, ".agent-persistence/tasks")).some((name) => name.startsWith(`${agentId}-`));

    it("colors its tables and truncates them to the width", async () => {
      const { code, screen } = await onTerminal("ap list").ended();
      expect(code).toBe(0);
      expect(screen).toContain("\x1b[1morder-1\x1b[22m  \x1b[32mcompleted\x1b[39m");
      const widths = stripVTControlCharacters(screen)
        .split("\n")
        .map((line) => textWidth(line).width);
      expect(Math.max(...widths)).toBe(columns);
      expect((await onTerminal("ap list", { NO_COLOR: "1" }).ended()).screen).not.toContain("\x1b");
    });

    it("shows the progress of long work on one line, and removes it", async () => {
      const { code, screen } = await onTerminal("ap verify").ended();
      expect(code).toBe(0);
      const [line = "", result] = screen.split("\x1b[32m");
      expect(progressOf(line)).toEqual(expect.arrayContaining(["Verifying", ""]));
      expect(result).toContain("intact");
    });

    it.each(kind === "pseudo-terminal" ? [kind] : [])("stops long work with Ctrl-C on a %s", async () => {
      await stuck().run("an order", { agentId: "stuck" });
      const replaying = onTerminal("ap replay --agent desk.mjs#stuck", { DESK_STUCK: "1" });
      await replaying.types("\x03", "Replaying");
      expect(await replaying.ended()).toMatchObject({ code: 130, screen: expect.stringContaining("was stopped") });
    });

    it.each(isThorough ? answers : answers.slice(0, 1))(
      "asks before a change and accepts %j as an answer",
      async (keys, code, isDone) => {
        const newId = `${kind.slice(0, 3)}${keys.charCodeAt(0)}`;
        const asking = onTerminal(`ap fork order-1 ${newId}`);
        await asking.types(keys, "Go ahead?");
        expect((await asking.ended()).code).toBe(code);
        expect(isThere(newId)).toBe(isDone);
      },
    );

    it("prints no colors into a pipe", async () => {
      const { screen } = await onTerminal("ap list | cat", { PIPED: "1" }).ended();
      expect(screen).toContain("order-1");
      expect(screen).not.toContain("\x1b");
    });
  });

  it("ends quietly when its reader closes the pipe, and prints no colors without a terminal", async () => {
    const cut = start(["log", "order-2"], { FORCE_COLOR: "1" });
    await cut.shows("run");
    cut.child.stdout?.destroy();
    expect(await cut.ended()).toMatchObject({ code: 0, err: "" });
    expect(cut.out).not.toContain("\x1b");
  });
});
