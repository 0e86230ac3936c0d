import { execFile } from "node:child_process";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { Desk } from "./support/Desk.ts";

const words = async (desk: Desk, ...given: readonly string[]): Promise<readonly string[]> => {
  const { code, out, err } = await desk.command(["complete", "--", ...given]);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return out.split("\n").filter((line) => line !== "");
};

describe("completion", () => {
  it("suggests commands, subcommands, options and their values", async () => {
    await using desk = await Desk.open();
    expect(await words(desk, "s")).toEqual(["show", "settle", "salvage"]);
    expect(await words(desk, "")).not.toContain("complete");
    expect(await words(desk, "move", "")).toEqual(["finish", "cancel", "help"]);
    expect(await words(desk, "list", "--st")).toEqual(["--storage", "--status"]);
    expect(await words(desk, "completion", "")).toEqual(["bash", "zsh", "fish"]);
    expect(await words(desk, "list", "--status", "")).toContain("waiting");
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
  });

  it("completes a line in bash", async () => {
    await using desk = await Desk.open();
    const script = (await desk.command(["completion", "bash"])).out;
    const command = join(desk.folder, "agent-persistence");
    await writeFile(command, '#!/bin/sh\n[ "$*" = "complete -- show o" ] && printf "order-1\\nor der\\n"\n');
    await chmod(command, 0o700);
    const line = `PATH=${desk.folder}:$PATH; ${script}
      COMP_WORDS=(agent-persistence show o); COMP_CWORD=2; _agent_persistence; printf "%s|" "\${COMPREPLY[@]}"`;
    const { stdout } = await promisify(execFile)("bash", ["-c", line]);
    expect(stdout).toBe("order-1|or\\ der|");
    expect(await desk.command(["completion", "tcsh"])).toMatchObject({ code: 2 });
  });
});
