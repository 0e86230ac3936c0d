import { GitError } from "../../errors/workspace/GitError.ts";

const objectId = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
/** What git itself allows in the name of a ref, and no expression such as `a~1` or `:/text`. */
// eslint-disable-next-line no-control-regex
const refused = /^[-/.]|\.\.|@\{|[\u0000-\u0020\u007f~^:?*[\\]|\/\/|[/.]$|\.lock(?:\/|$)/;

/** @throws GitError unless it is the name of a branch or another ref, such as `origin/main`. */
export function checkedRef(name: string): string {
  if (name === "" || name.length > 1_024 || refused.test(name))
    throw new GitError("rev-parse", `${JSON.stringify(name)} is no name of a branch`);
  return name;
}

/** @throws GitError unless it is the id of an object. */
export function checkedId(id: string): string {
  if (!objectId.test(id)) throw new GitError("rev-parse", `${JSON.stringify(id)} is no id of a commit`);
  return id;
}
