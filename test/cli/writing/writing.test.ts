import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { persistence, type PromptExecutor } from "agent-persistence";
import { TaskManager } from "agent-persistence/task";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { describe, expect, it, vi } from "vitest";
import { Desk, deskModule } from "../support/Desk.ts";
import { deskOn } from "../support/desk/desk.mjs";
import { documentOf, itemsOf, progressOf } from "../support/TestTerminal.ts";

const withDesk = ["--agent", `${deskModule}#desk`];

/** What `answer --json` lists. */
interface Asked {
  readonly requestId: string;
  readonly agentId: string;
}

describe("writing commands", () => {
  it("print their plan, ask, and change no data without a yes", async () => {
    await using desk = await Desk.open();
    await desk.waits("order-1");
    const refused = await desk.command(["fork", "order-1", "order-2"]);
    expect(refused).toMatchObject({ code: 4, out: "", shown: [] });
    expect(refused.err).toMatch(
      /The agent order-2 will get the history of order-1\.\n.*no terminal for the confirmation.*--yes/,
    );
    const declined = await desk.command(["fork", "order-1", "order-2"], { answers: [false] });
    expect(declined).toMatchObject({ code: 4, out: "", shown: ["Go ahead?"] });
    expect(itemsOf(await desk.command(["list", "--json"]))).toHaveLength(1);
    expect(await desk.command(["fork", "order-1", "order-2"], { answers: [true] })).toMatchObject({ code: 0 });
    expect(documentOf(await desk.command(["fork", "order-1", "order-3", "--yes", "--json"]))).toEqual({
      agentId: "order-3",
      forkOf: "order-1",
    });
    const taken = await desk.command(["fork", "order-1", "order-3", "--yes", "--json"]);
    expect(taken).toMatchObject({ code: 2, out: "" });
    expect(JSON.parse(taken.err)).toMatchObject({ error: { code: "agent_exists" } });
  });

  it("answer and reject requests by a shortened id, and a resume runs the agent to its end", async () => {
    await using desk = await Desk.open();
    await desk.waits("order-1");
    await desk.waits("order-2");
    const asked = documentOf<readonly Asked[]>(await desk.command(["answer", "--json"]));
    expect(asked.map(({ agentId }) => agentId)).toEqual(["order-1", "order-2"]);
    const [one = "", two = ""] = asked.map(({ requestId }) => requestId);
    const table = await desk.command(["answer"]);
    expect(table.out).toMatch(/Refund 700 cents\? \(refund \{"cents":700\}\)/);
    expect(await desk.command(["answer", one, "maybe", "--yes"])).toMatchObject({ code: 2 });
    expect(await desk.command(["answer", one, "--yes"])).toMatchObject({ code: 2 });
    expect(await desk.command(["answer", "nothing", "--approve", "--yes"])).toMatchObject({ code: 3 });
    expect(await desk.command(["answer", one.slice(0, 9), "--approve", "--yes", "--by", "Maria"])).toMatchObject({
      code: 0,
    });
    expect(await desk.command(["answer", two, "--reject", "too much", "--yes"])).toMatchObject({ code: 0 });
    expect(await desk.command(["resume", "order-1", "--yes"])).toMatchObject({ code: 2 });
    const done = await desk.command(["resume", "order-1", ...withDesk, "--yes"]);
    expect(done).toMatchObject({ code: 0, out: "order-1 is completed.\nAll is done.\n" });
    const other = await desk.command(["resume", "order-2", ...withDesk, "--yes", "--json"]);
    expect(documentOf(other)).toMatchObject({ agentId: "order-2", status: "completed" });
    expect((await desk.done()).filter((what) => what.startsWith("refunded"))).toEqual(["refunded 700"]);
  });

  it("list calls in doubt and settle one", async () => {
    await using desk = await Desk.open();
    const crashed = "order-1";
    await desk.crashes(crashed);
    const calls = () =>
      desk.command(["settle", crashed, "--json"]).then(documentOf<{ toolCallId: string; toolName: string }[]>);
    const [book, letter] = await calls();
    expect([book?.toolName, letter?.toolName]).toEqual(["book", "write"]);
    const id = letter?.toolCallId ?? "";
    expect(await desk.command(["settle", crashed, id, "--yes"])).toMatchObject({ code: 2 });
    expect(await desk.command(["settle", crashed, id, "--retry", "--unknown", "--yes"])).toMatchObject({ code: 2 });
    expect(await desk.command(["settle", crashed, "zzz", "--retry", "--yes"])).toMatchObject({ code: 3 });
    const settled = await desk.command(["settle", crashed, id, "--output", '"sent"', "--yes"]);
    expect(settled).toMatchObject({ code: 0 });
    expect(settled.err).toContain("the call succeeded with sent");
    expect((await calls()).map(({ toolName }) => toolName)).toEqual(["book"]);
    await desk.command(["settle", crashed, book?.toolCallId ?? "", "--retry", "--yes"]);
    expect((await desk.command(["settle", crashed])).out).toMatch(/SETTLED.*\n.*book.* retry /);
  });

  it("list the inverses of an open rollback and settle one", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    vi.stubEnv("DESK_BROKEN", "yes");
    expect(await desk.command(["rollback", "order-1", "1-1", ...withDesk, "--yes"])).toMatchObject({ code: 1 });
    const again = "rollback order-1 1-1";
    const shown = (await desk.command(["show", "order-1"])).out;
    expect(shown).toContain(
      `A rollback to 1-1 is not over. To finish it, use ${again}. To settle an inverse, use settle order-1.`,
    );
    expect(shown).toContain(`To skip calls that cannot be reverted, use ${again} --leave.`);
    expect(shown).not.toMatch(/^next/m);

    const listed = await desk.command(["settle", "order-1"]);
    expect(listed.out).toMatch(
      /^Inverses of the open rollback.*\nCALL .*\n\S+ +inverse of book +\S+ +failed +The desk/,
    );
    const [inverse] = documentOf<{ toolCallId: string; reverts: string }[]>(
      await desk.command(["settle", "order-1", "--json"]),
    );
    const settled = await desk.command(["settle", "order-1", inverse?.toolCallId ?? "", "--output", "null", "--yes"]);
    expect(settled).toMatchObject({ code: 0, err: expect.stringContaining("its call is reverted") });
    expect(await desk.command([...again.split(" "), ...withDesk, "--yes"])).toMatchObject({ code: 0 });
    expect((await desk.command(["show", "order-1"])).out).not.toContain("is not over");
  });

  it("export, import, move, and finish or cancel a move", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    const there = ["--storage", "file:there"];
    expect(await desk.command(["export", "order-1"])).toMatchObject({ code: 2 });
    expect(await desk.command(["export", "order-1", "-o", "copy"])).toMatchObject({ code: 0 });
    expect(await desk.command(["export", "order-1", "-o", "copy"])).toMatchObject({ code: 2 });
    expect(await desk.command(["import", "nothing", ...there, "--yes"])).toMatchObject({ code: 3 });
    expect(await desk.command(["import", "copy", ...there, "--as", "order-9", "--yes"])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^Imported order-9 with the \d checkpoints of the file\.\n$/),
    });
    await writeFile(join(desk.folder, "broken"), (await readFile(join(desk.folder, "copy"))).subarray(0, 900));
    expect(await desk.command(["import", "broken", ...there, "--as", "order-8", "--yes"])).toMatchObject({ code: 6 });

    expect(await desk.command(["export", "order-1", "-o", "moved", "--move"])).toMatchObject({ code: 4 });
    expect(await desk.command(["export", "order-1", "-o", "moved", "--move", "--gzip", "--yes"])).toMatchObject({
      code: 0,
    });
    expect(await desk.command(["move", "cancel", "order-1", "--yes"])).toMatchObject({ code: 0 });
    expect(await desk.command(["export", "order-1", "-o", "moved-2", "--move", "--yes"])).toMatchObject({ code: 0 });
    const imported = await desk.command([
      "import",
      "moved-2",
      ...there,
      "--receipt",
      "receipt.json",
      "--yes",
      "--json",
    ]);
    expect(documentOf(imported)).toMatchObject({ agentId: "order-1", checkpoints: 6 });
    expect(await desk.command(["move", "finish", "order-1", "copy", "--yes"])).toMatchObject({ code: 2 });
    expect(await desk.command(["move", "finish", "order-1", "receipt.json", "--yes"])).toMatchObject({ code: 0 });
    expect(itemsOf(await desk.command(["list", "--json"]))).toMatchObject([{ agentId: "order-1", status: "moved" }]);
    expect(itemsOf(await desk.command(["list", "--json", ...there]))).toHaveLength(2);
  });

  it("list and show what continues an agent that is moving, moved or copied", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    const there = ["--storage", "file:there"];
    const outputs = async (words: readonly string[] = []) => {
      const [list, show] = [await desk.command(["list", ...words]), await desk.command(["show", "order-1", ...words])];
      expect(show.out).toMatch(/^last {8}checkpoint \d-6$/m);
      return `${list.out.split("\n")[1]}\n${/^next .*/m.exec(show.out)?.[0]}`;
    };
    await desk.command(["export", "order-1", "-o", "copy"]);
    await desk.command(["import", "copy", ...there, "--yes"]);
    expect(await outputs(there)).toMatch(/copied .* this copy with resume --take-over\nnext .* resume --take-over$/);
    await desk.command(["export", "order-1", "-o", "archive", "--move", "--yes"]);
    expect(await outputs()).toMatch(/moving .*move finish, or call move cancel\nnext .* move cancel$/);
    await desk.command(["import", "archive", "--storage", "file:new", "--receipt", "receipt", "--yes"]);
    await desk.command(["move", "finish", "order-1", "receipt", "--yes"]);
    expect(await outputs()).toMatch(
      /moved .*before it moves back, delete it here with deleteAgent\(\)\nnext .* deleteAgent\(\)$/,
    );
    vi.stubEnv("DESK_FOLDER", join(desk.folder, "there"));
    const taken = await desk.command(["resume", "order-1", "--take-over", ...withDesk, "--yes"]);
    expect(taken).toMatchObject({ code: 0 });
    expect((await desk.command(["show", "order-1", ...there])).out).toMatch(/^status +completed .*\nlast /m);
  });

  it("salvage the intact part of a damaged agent, and verify names the damage", async () => {
    await using desk = await Desk.open();
    await desk.waits("order-1");
    await desk.waits("order-2");
    expect(await desk.command(["verify"])).toMatchObject({ code: 0, out: "2 agents are intact.\n" });
    await desk.damage("order-1");
    const verified = await desk.command(["verify", "--json"]);
    expect(verified.code).toBe(6);
    expect(itemsOf(verified)).toMatchObject([
      { agentId: "order-1", damage: [{ code: "corrupt_log" }] },
      { agentId: "order-2", damage: [] },
    ]);
    const named = await desk.command(["verify"], { columns: 100 });
    expect(named.code).toBe(6);
    expect(progressOf(named.err)).toEqual(expect.arrayContaining(["Verifying", "Verifying: 2 of 2", ""]));
    expect(await desk.command(["verify"], { columns: 100, env: { TERM: "dumb" } })).toMatchObject({ code: 6, err: "" });
    expect(named.out).toMatch(/order-1.*corrupt_log.*1 of 2 agents are damaged/s);
    expect(await desk.command(["salvage", "order-1"])).toMatchObject({ code: 2 });
    expect(await desk.command(["salvage", "order-1", "--to", "saved", "--yes"])).toMatchObject({ code: 0 });
    expect(await desk.command(["verify", "--storage", "file:saved"])).toMatchObject({ code: 0 });
    expect(await desk.command(["salvage", "order-1", "--to", "saved", "--yes"])).toMatchObject({ code: 2 });
  });

  it("prune data outside the agent's retention, after a preview", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    await desk.waits("order-2");
    expect(await desk.command(["prune", "--dry-run"])).toMatchObject({ code: 2 });
    const dry = await desk.command(["prune", "--dry-run", "--json", ...withDesk]);
    expect(documentOf(dry)).toMatchObject({ pruned: [{ agentId: "order-1", dropped: true }] });
    expect(await desk.command(["prune", ...withDesk])).toMatchObject({ code: 4 });
    const pruned = await desk.command(["prune", ...withDesk, "--yes"], { columns: 80 });
    expect(pruned.code).toBe(0);
    expect(progressOf(pruned.err)).toEqual(["Finding the data to prune", "Pruning", ""]);
    expect(itemsOf(await desk.command(["list", "--json"]))).toMatchObject([{ agentId: "order-2" }]);
  });

  it("stop a run in progress, and cancel it", async () => {
    await using desk = await Desk.open();
    const execute = vi.fn<PromptExecutor["execute"]>(
      ({ abortSignal }) =>
        new Promise((_resolve, reject) => {
          abortSignal.addEventListener("abort", () => reject(abortSignal.reason as Error));
        }),
    );
    const run = deskOn(desk.storage, { execute })
      .run("go", { agentId: "order-1" })
      .catch((error: unknown) => error);
    await vi.waitFor(() => expect(execute).toHaveBeenCalled());
    expect(await desk.command(["stop", "order-1"])).toMatchObject({ code: 4 });
    const stopped = await desk.command(["stop", "order-1", "--reason", "lunch", "--yes", "--json"]);
    expect(documentOf(stopped)).toEqual({ agentId: "order-1", stopped: true, status: "paused" });
    expect(await run).toMatchObject({ code: "stop_requested" });
    expect((await desk.command(["show", "order-1"])).out).toContain("lunch");
    expect(await desk.command(["cancel", "order-1", "--yes"])).toMatchObject({ out: "order-1 is cancelled.\n" });
    expect(await desk.command(["cancel", "order-1", "--yes"])).toMatchObject({ code: 2 });
  });

  it("list tasks, and pause, resume, cancel and retry them", async () => {
    await using desk = await Desk.open();
    const tasks = new TaskManager({ storage: desk.storage });
    for (const taskId of ["a", "b"]) await tasks.create({ taskId, taskName: "desk", inputRequest: taskId });
    await tasks.start("b");
    const statuses = async () => {
      const listed = itemsOf<{ taskId: string; status: string }>(await desk.command(["tasks", "list", "--json"]));
      return listed.map(({ taskId, status }) => `${taskId} ${status}`);
    };
    expect(await statuses()).toEqual(["a queued", "b in_progress"]);
    expect(itemsOf(await desk.command(["tasks", "list", "--limit", "0", "--json"]))).toHaveLength(2);
    expect((await desk.command(["tasks", "list", "--status", "queued"])).out).toMatch(/^TASK.*\na {5}queued {2}desk/);
    expect(await desk.command(["tasks", "list", "--status", "running"])).toMatchObject({ code: 2 });
    expect(await desk.command(["tasks", "pause", "b"])).toMatchObject({ code: 4 });
    expect(await desk.command(["tasks", "pause", "x", "--yes"])).toMatchObject({
      code: 3,
      err: expect.stringContaining('There is no task "x" in file:'),
    });
    expect(await desk.command(["tasks", "pause", "b", "--reason", "lunch", "--yes"])).toMatchObject({ code: 0 });
    expect(await statuses()).toEqual(["a queued", "b paused"]);
    expect(await desk.command(["tasks", "resume", "b", "--yes"])).toMatchObject({ code: 0 });
    await tasks.fail("b", new Error("tired"));
    expect(await desk.command(["tasks", "retry", "b", "--yes"])).toMatchObject({ code: 0, out: "b is queued.\n" });
    expect(await desk.command(["tasks", "cancel", "a", "--yes"])).toMatchObject({ code: 0 });
    expect(await desk.command(["tasks", "retry", "a", "--yes"])).toMatchObject({ code: 2 });
    expect(await statuses()).toEqual(["a cancelled", "b queued"]);
  });

  it("refuse an agent that another process runs", async () => {
    await using desk = await Desk.open();
    await desk.waits("order-1");
    const owned = await desk.storage.log.open("order-1", { host: "here", processId: 1, nonce: "other" });
    const [request] = await persistence(deskOn(desk.storage)).agent("order-1").getRequests();
    const busy = await desk.command(["resume", "order-1", ...withDesk, "--yes", "--json"]);
    expect(busy).toMatchObject({ code: 5, out: "" });
    expect(JSON.parse(busy.err)).toMatchObject({ error: { code: "agent_busy" } });
    expect(request).toBeDefined();
    expect((await desk.command(["settle", "order-1"])).err).toMatch(/^The agent is running, so a listed call may/);
    await owned.release();
  });
});

describe("--agent", () => {
  it.each([
    ["nowhere.mjs#desk", 3, "There is no module"],
    [`${deskModule}#nobody`, 2, 'has no export "nobody"'],
    [`${deskModule}#notAnAgent`, 2, "is not an agent with Persistence installed"],
    [`${deskModule}#bare`, 2, "is not an agent with Persistence installed"],
  ])("reports the mistake in %s", async (agent, code, message) => {
    await using desk = await Desk.open();
    await desk.waits("order-1");
    const found = await desk.command(["resume", "order-1", "--agent", agent, "--yes"]);
    expect(found).toMatchObject({ code, err: expect.stringContaining(message) });
  });

  it.each(["no-such-package", "./none.mjs"])("names the missing import of an existing module: %s", async (name) => {
    await using desk = await Desk.open();
    await writeFile(join(desk.folder, "agent.mjs"), `import "${name}";`);
    const found = await desk.command(["resume", "order-1", "--agent", "agent.mjs", "--yes"]);
    expect(found).toMatchObject({
      code: 1,
      err: expect.stringMatching(/Could not load .*agent\.mjs: .*(package|none)/),
    });
  });

  it("loads the default export, and is refused together with options of a storage", async () => {
    await using desk = await Desk.open();
    await desk.waits("order-1");
    expect(await desk.command(["answer", "--agent", deskModule, "--json"])).toMatchObject({ code: 0 });
    for (const option of ["--storage", "--keys", "--seals"])
      expect(await desk.command(["resume", "order-1", "--agent", deskModule, option, "file:x", "--yes"])).toMatchObject(
        { code: 2, err: expect.stringContaining(`Pass --agent or ${option}, not both.`) },
      );
    expect(persistence(deskOn(desk.storage)).storage).toBe(desk.storage);
    expect(new FilePersistenceStorageProvider()).not.toBe(desk.storage);
  });
});
