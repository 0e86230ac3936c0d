import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import type { AgentContext } from "../../agent/context/AgentContext.ts";
import { tool, type Tool } from "../../agent/tool/Tool.ts";
import { FeatureNotInstalledError } from "../../errors/agentErrors.ts";
import { assertContext, checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { Drift } from "../driftWatch/DriftWatch.ts";
import {
  authorSchema,
  commitInRunSchema,
  commitRecorded,
  type CommitRecord,
  type CommitAuthor,
  type GitCommitRequest,
  type GitCommitResult,
} from "../git/commitFiles.ts";
import { branchSchema, commitIdSchema, parentIdSchema } from "../git/refName.ts";
import { persistence } from "../../persistence/Persistence.ts";

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
 * Creates the tool `commit`, which commits files on the current branch. If {@link Drift} is installed, the tool checks
 * for drift first. If the drift is high, the run waits before the commit. A call that is repeated after a crash makes
 * no second commit. To revert commits in a rollback, register `revertCommit` as the inverse.
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
  assertContext(context, "commit");
  await featureOf(() => context.feature(Drift))?.check(context, "before_commit");
  return commitRecorded(root, { ...request, signal: context.signal }, recordOf(context, request));
}

const commitNoteKey = "commit";

const noteSchema = z.object({
  message: z.string(),
  paths: z.array(z.string()),
  ordinal: z.number().optional(),
  result: z.object({
    commit: commitIdSchema,
    parent: parentIdSchema,
    made: z.literal(true),
    branch: branchSchema,
  }),
});

/** Notes the commits of a call in the log, so that a call that is repeated after a crash returns the same commit. */
function recordOf(context: AgentContext, { message, paths }: Omit<GitCommitRequest, "signal">): CommitRecord {
  const log = featureOf(() => persistence(context));
  if (!log) return { earlier: [], note: () => Promise.resolve() };
  const noted = log.recordedNotes(commitNoteKey).flatMap((value) => noteSchema.safeParse(value).data ?? []);
  const ordinal = nextOrdinal(context, JSON.stringify([message, paths]));
  const isSame = (note: z.output<typeof noteSchema>) =>
    isDeepStrictEqual([note.message, note.paths, note.ordinal ?? 0], [message, paths, ordinal]);
  return {
    earlier: noted.filter(isSame).map(({ result }) => result),
    note: async (result) => {
      log.note({ key: commitNoteKey, value: { message, paths, ordinal, result } });
      await log.durable();
    },
  };
}

const equalCommits = new WeakMap<AgentContext, Map<string, number>>();

/** Returns the number of a commit among the equal commits of a call. Each of them has separate notes. */
function nextOrdinal(context: AgentContext, commit: string): number {
  const counts = equalCommits.get(context) ?? new Map<string, number>();
  const ordinal = counts.get(commit) ?? 0;
  equalCommits.set(context, counts.set(commit, ordinal + 1));
  return ordinal;
}

function featureOf<Feature>(get: () => Feature): Feature | undefined {
  try {
    return get();
  } catch (error) {
    if (error instanceof FeatureNotInstalledError) return undefined;
    throw error;
  }
}
