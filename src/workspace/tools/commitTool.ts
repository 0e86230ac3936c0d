import { z } from "zod";
import type { AgentContext } from "../../agent/context/AgentContext.ts";
import { tool, type Tool } from "../../agent/tool/Tool.ts";
import { FeatureNotInstalledError } from "../../errors/agentErrors.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { Drift, type DriftWatch } from "../driftWatch/DriftWatch.ts";
import {
  authorSchema,
  commitFiles,
  commitInRunSchema,
  type CommitAuthor,
  type GitCommitRequest,
  type GitCommitResult,
} from "../git/commitFiles.ts";

/** The input of the tool `commit`. */
export interface CommitToolInput {
  readonly message: string;
  readonly paths: readonly string[];
}

const optionsSchema = strictOptions(() => ({ root: nonEmptyString, author: authorSchema }));

const inputSchema = z.object({
  message: z.string().min(1),
  paths: z
    .array(z.string())
    .min(1)
    .readonly()
    .describe('the files to commit, relative to the root, such as "src/main.ts"'),
});

/**
 * Creates the tool `commit`, which commits files on the current branch. If {@link Drift} is installed, it first checks
 * for drift, and the run waits before the commit if the drift is high. A call that is repeated after a crash makes no
 * second commit. To revert commits in a rollback, register `revertCommit` as the inverse.
 *
 * @param options.root the root of the work tree
 * @throws InvalidInputError
 */
export function commitTool(options: {
  readonly root: string;
  readonly author: CommitAuthor;
}): Tool<CommitToolInput, GitCommitResult, CommitToolInput> {
  checkSchema(optionsSchema, options, "options of the commit tool");
  return tool({
    name: "commit",
    description: "Commits files as they are, on the branch that is checked out.",
    inputSchema,
    effect: "idempotent",
    dangerous: true,
    execute: (input, { context }) => commitInRun(context, options.root, { ...input, author: options.author }),
  });
}

/** Commits files in a run, after a drift check if {@link Drift} is installed. @throws InvalidInputError, GitError */
export async function commitInRun(
  context: AgentContext,
  root: string,
  request: Omit<GitCommitRequest, "signal">,
): Promise<GitCommitResult> {
  checkSchema(commitInRunSchema, request, "commit");
  await driftWatchOf(context)?.check(context, "before_commit");
  return commitFiles(root, { ...request, signal: context.signal });
}

function driftWatchOf(context: AgentContext): DriftWatch | undefined {
  try {
    return context.feature(Drift);
  } catch (error) {
    if (error instanceof FeatureNotInstalledError) return undefined;
    throw error;
  }
}
