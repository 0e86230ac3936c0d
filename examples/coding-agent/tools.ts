import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { tool } from "agent-persistence";
import type { Workspace } from "agent-persistence/workspace";
import { z } from "zod";
import type { Repository } from "./Repository.ts";

const branchInput = z.object({ name: z.string().regex(/^[a-z][a-z0-9/-]*$/) });

/** Creates a branch. A call that is repeated after a crash finds the branch. */
export function branchTool(repository: Repository) {
  return tool({
    name: "create_branch",
    description: "Creates a branch from where the repository is, and switches to it.",
    inputSchema: branchInput,
    effect: "idempotent",
    execute: ({ name }) => {
      if (!repository.branches.includes(name)) repository.git("branch", name);
      repository.git("switch", "--quiet", name);
      return { branch: name };
    },
  });
}

/** The inverse of `create_branch`: a tool with the same input. */
export function removeBranch(repository: Repository) {
  return tool({
    name: "remove_branch",
    description: "Switches back to main and removes a branch.",
    inputSchema: branchInput,
    effect: "idempotent",
    execute: ({ name }) => {
      repository.git("switch", "--quiet", "main");
      if (repository.branches.includes(name)) repository.git("branch", "--quiet", "-D", name);
    },
  });
}

/** A command that writes files: the workspace captures its changes. */
export function testTool(repository: Repository, workspace: Workspace) {
  return tool({
    name: "run_tests",
    description: "Runs the tests of the project; their report is in test/report.txt.",
    inputSchema: z.object({}),
    effect: "idempotent",
    execute: (_input, { context }) =>
      workspace.capture(context, () => {
        const { status, stdout } = spawnSync(process.execPath, ["--test", "test/"], {
          cwd: repository.root,
          encoding: "utf8",
        });
        writeFileSync(join(repository.root, "test/report.txt"), stdout);
        return { passed: status === 0 };
      }),
  });
}
