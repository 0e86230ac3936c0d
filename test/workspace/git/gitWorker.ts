import { rebaseIfSafe, commitFiles, revertCommit } from "agent-persistence/workspace";

// Makes one change of a repository. A git program in PATH kills this process during the change.
const [action = "", root = "", committed = ""] = process.argv.slice(2);
const person = { name: "Agent", email: "agent@example.com" };
if (action === "commit") await commitFiles(root, { message: "x", paths: ["a.txt"], author: person });
if (action === "revert") await revertCommit(root, JSON.parse(committed));
if (action === "rebase")
  await rebaseIfSafe({ root, enabled: true, test: () => true, permission: () => true, committer: person });
