import { z } from "zod";
import type { AgentContext } from "../../agent/context/AgentContext.ts";
import { tool, type Tool } from "../../agent/tool/Tool.ts";
import { FeatureNotInstalledError } from "../../errors/agent/FeatureNotInstalledError.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { Drift, type DriftWatch } from "../watch/DriftWatch.ts";
import {
  authorSchema,
  commitFiles,
  commitInRunSchema,
  type CommitAuthor,
  type CommitRequest,
  type CommittedFiles,
} from "../git/commitFiles.ts";

/** What the model says to commit. */
export interface CommitInput {
  readonly message: string;
  readonly paths: readonly string[];
}

const optionsSchema = strictOptions({ root: nonEmptyString, author: authorSchema });

const inputSchema = z.object({
  message: z.string().min(1),
  paths: z
    .array(z.string())
    .min(1)
    .readonly()
    .describe('the files to commit, relative to the root, such as "src/main.ts"'),
});

/**
 * The tool `commit`. Where {@link Drift} is installed it looks for drift first, and a high one makes the run wait before
 * anything is committed. A call that is made again after a crash finds its files committed, and makes no second commit. To
 * take commits back in a rollback, register `revertCommit` as its inverse.
 */
export function commitTool(options: {
  readonly root: string;
  readonly author: CommitAuthor;
}): Tool<CommitInput, CommittedFiles, CommitInput> {
  checkSchema(optionsSchema, options, "options of the commit tool");
  return tool({
    name: "commit",
    description: "Commits files as they are on the branch that is checked out.",
    inputSchema,
    effect: "idempotent",
    execute: (input, { context }) => commitInRun(context, options.root, { ...input, author: options.author }),
  });
}

/** Commits files on behalf of a run, after a look for drift where {@link Drift} is installed. @throws GitError */
export async function commitInRun(
  context: AgentContext,
  root: string,
  request: Omit<CommitRequest, "signal">,
): Promise<CommittedFiles> {
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
