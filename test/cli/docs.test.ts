import { readFileSync } from "node:fs";
import { AIAgent, Persistence, persistence, tool } from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { commandLine } from "../../src/cli/commandLine.ts";
import { exitCodes } from "../../src/cli/terminal/CommandFailure.ts";
import { processIo } from "../../src/cli/terminal/processIo.ts";
import { repository } from "../package/compile.ts";
import { Desk, deskModule } from "./support/Desk.ts";

const page = readFileSync(`${repository}docs/command-line.md`, "utf8");
const shell = [...page.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = ""]) => block);
const lines = shell.flatMap((block) => block.split("\n").filter((line) => line !== ""));

describe("docs/command-line.md", () => {
  it("has examples with the documented results, in their order", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-7");
    await desk.waits("order-8");
    await desk.crashes("order-9");
    for (const line of lines) {
      const [npx, name, ...args] = line.split(" ");
      expect([npx, name]).toEqual(["npx", "agent-persistence"]);
      const answered = await desk.command(args.map((arg) => arg.replace("./desk.mjs", deskModule)));
      expect({ line, ...answered }).toMatchObject({ line, code: 0 });
    }
  });

  it("shows the tree of a run and a rollback", async () => {
    await using desk = await Desk.open();
    const look = tool({ name: "look", description: "", inputSchema: z.object({}), execute: () => "seen" });
    const promptExecutor = scriptedModel([{ toolCalls: [{ toolName: "look", input: {} }] }, "Done."]);
    const { storage } = desk;
    const agent = new AIAgent({ promptExecutor, llmModel: "m", tools: [look] }).install(Persistence, { storage });
    await agent.run("go", { agentId: "order-7" });
    await persistence(agent).agent("order-7").rollbackToCheckpoint("1-2");
    const [, documented = ""] = /^`tree` shows:\n\n```\n(.*?)^```/ms.exec(page) ?? [];
    const { out } = await desk.command(["tree", "order-7"]);
    expect(withoutTimes(documented)).toEqual(withoutTimes(out));
  });

  it("has every command and every option", () => {
    const program = commandLine(processIo("0.0.0"), false, () => {});
    const shown = program.createHelp().visibleCommands(program);
    for (const [path, command] of leavesOf(shown.filter((each) => each.name() !== "help"))) {
      expect(page).toMatch(new RegExp(`\`${path.replace(/^(tasks|move) /, "(tasks |move |)?")}[ \`]`));
      for (const { long, hidden } of command.options) if (!hidden) expect(page).toContain(String(long));
    }
  });

  it("has every exit code", () => {
    const rows = [...page.matchAll(/^\| (\d+) \| `(\w+)` \|/gm)].map(([, code, name]) => [name, Number(code)]);
    expect(Object.fromEntries(rows)).toEqual(exitCodes);
  });
});

const withoutTimes = (table: string) => table.replaceAll(/ +(WHEN|now|[^ ]+ [^ ]+ ago)$/gm, "");

function leavesOf(commands: readonly Command[], before = ""): readonly (readonly [string, Command])[] {
  return commands.flatMap((command) => {
    const path = `${before}${command.name()}`;
    return command.commands.length > 0 ? leavesOf(command.commands, `${path} `) : [[path, command] as const];
  });
}
