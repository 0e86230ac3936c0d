import { z } from "zod";
import { tool, type AnyTool } from "../../agent/tool/Tool.ts";
import type { Mutex } from "../../internal/Mutex.ts";
import { fileIn, textIn } from "../files/readFile.ts";
import { relativePath } from "../files/relativePath.ts";
import type { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { changeFiles, deletionOf, editOf, moveOf, writeOf } from "./changeFiles.ts";

const path = z.string().describe('relative to the root, such as "src/main.ts"');
const encoding = z.enum(["utf8", "base64"]);

/**
 * The tools with which an agent reads and changes the files of a workspace. Calls that change files run one at a time, even
 * within one model answer; each may be repeated after a crash.
 */
export function fileTools(files: WorkspaceFiles, turns: Mutex): readonly AnyTool[] {
  return [
    readTool(files),
    writeTool(files, turns),
    editTool(files, turns),
    deleteTool(files, turns),
    moveTool(files, turns),
  ];
}

function readTool(files: WorkspaceFiles): AnyTool {
  return tool({
    name: "read_file",
    description:
      "Reads a file. Content that is not text is returned as base64. A link is not followed: its target is returned.",
    inputSchema: z.object({ path }),
    effect: "none",
    execute: async (input) => {
      const at = relativePath(input.path);
      const found = await files.read(at);
      if (found.kind === "link") return { path: at, linkTo: found.state.target };
      const { content } = fileIn(found, at);
      const text = textIn(content);
      return text === undefined
        ? { path: at, encoding: "base64", content: Buffer.from(content).toString("base64") }
        : { path: at, content: text };
    },
  });
}

function writeTool(files: WorkspaceFiles, turns: Mutex): AnyTool {
  return tool({
    name: "write_file",
    description: "Writes a whole file and creates the folders it needs. Existing content is replaced.",
    inputSchema: z.object({
      path,
      content: z.string(),
      encoding: encoding.optional().describe("of content; default utf8"),
      executable: z.boolean().optional().describe("default: unchanged; false for a new file"),
    }),
    effect: "idempotent",
    modifiesFiles: true,
    execute: ({ path: given, content, encoding: form, executable }, options) =>
      turns.runExclusive(async () => {
        const at = relativePath(given);
        const bytes = Buffer.from(content, form ?? "utf8");
        const [change] = await changeFiles(files, options, () => writeOf(files, at, bytes, executable));
        return { path: at, bytes: bytes.length, created: change?.before === undefined };
      }),
  });
}

function editTool(files: WorkspaceFiles, turns: Mutex): AnyTool {
  return tool({
    name: "edit_file",
    description: "Replaces text in a text file. The text must occur exactly once, unless all is true.",
    inputSchema: z.object({
      path,
      oldText: z.string().min(1).describe("exact, including line breaks and spaces"),
      newText: z.string(),
      all: z.boolean().optional().describe("replace every occurrence; default false"),
    }),
    effect: "idempotent",
    modifiesFiles: true,
    execute: ({ path: given, ...edit }, options) =>
      turns.runExclusive(async () => {
        const at = relativePath(given);
        const [change] = await changeFiles(files, options, () => editOf(files, at, edit));
        return { path: at, bytes: change?.after?.kind === "file" ? change.after.bytes : 0 };
      }),
  });
}

function deleteTool(files: WorkspaceFiles, turns: Mutex): AnyTool {
  return tool({
    name: "delete_file",
    description: "Deletes a file or a link.",
    inputSchema: z.object({ path }),
    effect: "idempotent",
    modifiesFiles: true,
    execute: ({ path: given }, options) =>
      turns.runExclusive(async () => {
        const at = relativePath(given);
        await changeFiles(files, options, () => deletionOf(files, at));
        return { path: at };
      }),
  });
}

function moveTool(files: WorkspaceFiles, turns: Mutex): AnyTool {
  return tool({
    name: "move_file",
    description: "Moves or renames a file or a link. Nothing may exist at the new path.",
    inputSchema: z.object({ from: path, to: path }),
    effect: "idempotent",
    modifiesFiles: true,
    execute: ({ from: givenFrom, to: givenTo }, options) =>
      turns.runExclusive(async () => {
        const [from, to] = [relativePath(givenFrom), relativePath(givenTo)];
        await changeFiles(files, options, () => moveOf(files, from, to));
        return { from, to };
      }),
  });
}
