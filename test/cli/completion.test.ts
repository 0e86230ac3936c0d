import { execFile, spawnSync } from "node:child_process";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { Desk } from "./support/Desk.ts";

const words = async (desk: Desk, ...given: readonly string[]): Promise<readonly string[]> => {
  const { code, out, err } = await desk.command(["complete", "--", ...given]);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return out.split("\n").filter((line) => line !== "");
};

/** Whether a shell is installed. */
const has = (shell: string) => spawnSync(shell, ["--version"]).status === 0;

/** Writes a command that completes `show o`, and returns the script of a shell. */
async function scriptOf(desk: Desk, shell: string): Promise<string> {
  const command = join(desk.folder, "agent-persistence");
  await writeFile(command, '#!/bin/sh\n[ "$*" = "complete -- show o" ] && printf "order-1\\nor der\\n"\n');
  await chmod(command, 0o700);
  return (await desk.command(["completion", shell])).out;
}

describe("completion", () => {
  it("suggests commands, subcommands, options and their values", async () => {
    await using desk = await Desk.open();
    expect(await words(desk, "s")).toEqual(["show", "stop", "settle", "salvage"]);
    expect(await words(desk, "")).not.toContain("complete");
    expect(await words(desk, "move", "")).toEqual(["finish", "cancel", "help"]);
    expect(await words(desk, "list", "--st")).toEqual(["--storage", "--status"]);
    expect(await words(desk, "completion", "")).toEqual(["bash", "zsh", "fish"]);
    expect(await words(desk, "list", "--status", "")).toEqual(expect.arrayContaining(["waiting", "moved"]));
    expect(await words(desk, "tasks", "list", "--status", "")).not.toContain("moved");
  });

  it("suggests agents and checkpoints of the storage if it can be read", async () => {
    await using desk = await Desk.open();
    expect(await words(desk, "show", "")).toEqual([]);
    await desk.waits("order-1");
    await desk.waits("order-2");
    expect(await words(desk, "show", "--json", "o")).toEqual(["order-1", "order-2"]);
    expect(await words(desk, "verify", "order-1", "order-2", "")).toEqual(["order-1", "order-2"]);
    expect(await words(desk, "show", "order-1", "1-")).toContain("1-2");
    expect(await words(desk, "show", "--storage", `file:${desk.folder}/none`, "")).toEqual([]);
    expect(await words(desk, "show", `--storage=file:${desk.folder}/none`, "")).toEqual([]);
  });

  it("completes a line in bash", async () => {
    await using desk = await Desk.open();
    const script = await scriptOf(desk, "bash");
    const line = `PATH=${desk.folder}:$PATH; ${script}
      COMP_LINE="agent-persistence show o"; COMP_POINT=24; _agent_persistence; printf "%s|" "\${COMPREPLY[@]}"`;
    const { stdout } = await promisify(execFile)("bash", ["-c", line]);
    expect(stdout).toBe("order-1|or\\ der|");
    expect(await desk.command(["completion", "tcsh"])).toMatchObject({ code: 2 });
  });

  it.each([
    [" :=", "b-1"],
    [" ", "a:b-1"],
  ])(
    "completes an id with a colon in bash, and keeps the word breaks '%s' of other commands",
    async (breaks, reply) => {
      await using desk = await Desk.open();
      const { out } = await desk.command(["completion", "bash"]);
      const command = `agent-persistence() { [ "$*" = "complete -- show --storage=file:x a:b" ] && echo a:b-1; }`;
      const line = `${command}; COMP_WORDBREAKS='${breaks}'; ${out}
      COMP_LINE="agent-persistence show --storage=file:x a:b more"; COMP_POINT=43; _agent_persistence
      printf "%s|" "\${COMPREPLY[@]}" "$COMP_WORDBREAKS"`;
      const { stdout } = await promisify(execFile)("bash", ["-c", line]);
      expect(stdout).toBe(`${reply}|${breaks}|`);
    },
  );

  it.skipIf(!has("zsh"))("completes a line in zsh", async () => {
    await using desk = await Desk.open();
    const script = await scriptOf(desk, "zsh");
    const line = `PATH=${desk.folder}:$PATH
      compdef() {}; compadd() { shift; print -rn -- "\${(j:|:)\${(P)1}}" }; _files() { print -n files }
      ${script}
      words=(agent-persistence show o); CURRENT=3; _agent_persistence; print -n " "
      words=(agent-persistence show x); _agent_persistence`;
    const { stdout } = await promisify(execFile)("zsh", ["-f", "-c", line]);
    expect(stdout).toBe("order-1|or der files");
  });

  it.skipIf(!has("fish"))("completes a line and files in fish", async () => {
    await using desk = await Desk.open();
    const script = await scriptOf(desk, "fish");
    const complete = async (line: string) => {
      const code = `set -x PATH ${desk.folder} $PATH; ${script}\ncomplete -C "agent-persistence ${line}"`;
      return (await promisify(execFile)("fish", ["--no-config", "-c", code], { cwd: desk.folder })).stdout;
    };
    expect((await complete("show o")).split("\n").toSorted()).toEqual(["", "or der", "order-1"]);
    for (const line of ["import agent-p", "ui --out agent-p", "resume x -a agent-p"])
      expect(await complete(line)).toBe("agent-persistence\n");
    expect(await complete("show agent-p")).toBe("");
  });

  it("completes files in fish after every option that takes one", async () => {
    await using desk = await Desk.open();
    const { out } = await desk.command(["completion", "fish"]);
    const [, known = ""] = /__fish_prev_arg_in ([^']*)'/.exec(out) ?? [];
    const source = await readFile(join(import.meta.dirname, "../../src/cli/commandLine.ts"), "utf8");
    const flags = [...source.matchAll(/option\("((?:-\w, )?--[\w-]+) <(?:file|module#export|head)>"/g)];
    const named = new Set(flags.flatMap(([, each = ""]) => each.split(", ")));
    expect(known.split(" ").toSorted()).toEqual([...named].toSorted());
  });
});
