import type { z } from "zod";
import { GitError } from "../../errors/workspaceErrors.ts";
import { customSchema } from "../../internal/options/optionSchemas.ts";

const objectId = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
/** Rejects the characters that git rejects in refs, and therefore expressions such as `a~1` or `:/text`. */
// eslint-disable-next-line no-control-regex
const refused = /^[-/.]|\.\.|@\{|[\u0000-\u0020\u007f~^:?*[\\]|\/\/|[/.]$|\.lock(?:\/|$)/;

export const commitIdSchema: z.ZodType<string> = customSchema("the id of a commit", isObjectId);

export const parentIdSchema: z.ZodType<string> = customSchema(
  "the id of a commit, or an empty string",
  (value) => value === "" || isObjectId(value),
);

export const branchSchema: z.ZodType<string> = customSchema(
  'the full name of a branch, such as "refs/heads/main", or an empty string',
  (value) => value === "" || (typeof value === "string" && value.startsWith("refs/heads/") && isRef(value)),
);

/** @throws GitError unless the name is a ref such as `origin/main` */
export function checkedRef(name: string): string {
  if (!isRef(name)) throw new GitError("rev-parse", `${JSON.stringify(name)} is not the name of a branch`);
  return name;
}

function isRef(name: string): boolean {
  return name !== "" && name.length <= 1_024 && !refused.test(name);
}

/** @throws GitError unless the text is an object id */
export function checkedId(id: string): string {
  if (!isObjectId(id)) throw new GitError("rev-parse", `${JSON.stringify(id)} is not the id of a commit`);
  return id;
}

function isObjectId(value: unknown): boolean {
  return typeof value === "string" && objectId.test(value);
}
