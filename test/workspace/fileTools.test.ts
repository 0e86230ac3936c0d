import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, persistence, triggers } from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { commitTool, Workspace } from "agent-persistence/workspace";
import { Coder, temporaryFolder, treeOf, type Call } from "./fixture.ts";

/** A folder with something of everything. */
function filled(): string {
  const root = temporaryFolder();
  mkdirSync(join(root, "src"));
  writeFileSync(join(root, "src/main.ts"), "let a = 1;\nlet b = 1;\n", { mode: 0o640 });
  writeFileSync(join(root, "run"), "#!/bin/sh\n", { mode: 0o755 });
  writeFileSync(join(root, "image"), Buffer.from([0, 255, 128, 10, 13]));
  writeFileSync(join(root, "empty"), "");
  symlinkSync("nowhere/else", join(root, "link"));
  chmodSync(join(root, "src/main.ts"), 0o640);
  return root;
}

const cases: readonly (readonly [
  name: string,
  call: Call,
  output: unknown,
  tree: Readonly<Record<string, string | undefined>>,
])[] = [
  [
    "a new file",
    ["write_file", { path: "new.txt", content: "hé" }],
    { path: "new.txt", bytes: 3, created: true },
    { "new.txt": "644 hÃ©" },
  ],
  [
    "a new file in new directories",
    ["write_file", { path: "./a//b/c.txt", content: "" }],
    { path: "a/b/c.txt", bytes: 0, created: true },
    { a: "folder", "a/b": "folder", "a/b/c.txt": "644 " },
  ],
  [
    "bytes",
    ["write_file", { path: "empty", content: "AP8=", encoding: "base64" }],
    { path: "empty", bytes: 2, created: false },
    { empty: "644 \0ÿ" },
  ],
  [
    "a file that keeps its mode",
    ["write_file", { path: "run", content: "x" }],
    { path: "run", bytes: 1, created: false },
    { run: "755 x" },
  ],
  [
    "a file that becomes executable",
    ["write_file", { path: "src/main.ts", content: "x", executable: true }],
    { path: "src/main.ts", bytes: 1, created: false },
    { "src/main.ts": "750 x" },
  ],
  [
    "a file that stops being executable",
    ["write_file", { path: "run", content: "#!/bin/sh\n", executable: false }],
    { path: "run", bytes: 10, created: false },
    { run: "644 #!/bin/sh\n" },
  ],
  [
    "unusual names",
    ["write_file", { path: "-rf/ü\n'\"/__proto__", content: "x" }],
    { path: "-rf/ü\n'\"/__proto__", bytes: 1, created: true },
    { "-rf": "folder", "-rf/ü\n'\"": "folder", ["-rf/ü\n'\"/__proto__"]: "644 x" },
  ],
  [
    "an edit",
    ["edit_file", { path: "src/main.ts", oldText: "a = 1", newText: "a = 2" }],
    { path: "src/main.ts", bytes: 22 },
    { "src/main.ts": "640 let a = 2;\nlet b = 1;\n" },
  ],
  [
    "an edit everywhere",
    ["edit_file", { path: "src/main.ts", oldText: "1", newText: "$&", all: true }],
    { path: "src/main.ts", bytes: 24 },
    { "src/main.ts": "640 let a = $&;\nlet b = $&;\n" },
  ],
  ["a deletion", ["delete_file", { path: "image" }], { path: "image" }, { image: undefined }],
  ["the deletion of a link", ["delete_file", { path: "link" }], { path: "link" }, { link: undefined }],
  [
    "a move",
    ["move_file", { from: "run", to: "bin/run" }],
    { from: "run", to: "bin/run" },
    { run: undefined, bin: "folder", "bin/run": "755 #!/bin/sh\n" },
  ],
  [
    "the move of a link",
    ["move_file", { from: "link", to: "src/link" }],
    { from: "link", to: "src/link" },
    { link: undefined, "src/link": "link to nowhere/else" },
  ],
];

describe("file changes of the workspace tools", () => {
  it.each(cases)("file tools: %s, and a rollback reverts it byte for byte", async (_name, call, output, changed) => {
    const coder = new Coder([call], { root: filled() });
    const before = treeOf(coder.root);
    expect(await coder.run()).toEqual([output]);
    const expected = Object.entries({ ...before, ...changed }).filter(([, value]) => value !== undefined);
    expect(treeOf(coder.root)).toEqual(Object.fromEntries(expected));
    const report = await coder.rollBack(0);
    expect(treeOf(coder.root)).toEqual(before);
    expect([report.irreversible, report.failed, report.reverted, report.skipped]).toEqual([[], [], [], []]);
  });

  const refused: readonly (readonly [name: string, call: Call, reason: RegExp])[] = [
    ["a path outside", ["write_file", { path: "../out", content: "" }], /contains \\?"\.\.\\?"/],
    ["an absolute path", ["delete_file", { path: "/etc/passwd" }], /absolute/],
    ["a path with NUL", ["read_file", { path: "a\0b" }], /NUL/],
    ["no path", ["read_file", { path: "./." }], /names no file/],
    ["malformed text", ["write_file", { path: "a\ud800", content: "" }], /well-formed/],
    [".git", ["write_file", { path: ".git/hooks/post-commit", content: "" }], /\.git/],
    [".git by another name", ["write_file", { path: "src/.GI\u200cT. /config", content: "" }], /\.git/],
    ["through a link", ["write_file", { path: "way/out", content: "" }], /link/],
    ["a link as a file", ["edit_file", { path: "link", oldText: "a", newText: "b" }], /is a link to/],
    ["a directory", ["write_file", { path: "src", content: "" }], /is a folder/],
    ["a file as a directory", ["write_file", { path: "run/x", content: "" }], /part of its path is a file/],
    ["a missing file", ["edit_file", { path: "src/none", oldText: "a", newText: "b" }], /does not exist/],
    ["text that the file lacks", ["edit_file", { path: "run", oldText: "bash", newText: "" }], /does not contain/],
    ["text that occurs twice", ["edit_file", { path: "src/main.ts", oldText: "1", newText: "" }], /2 times/],
    ["no text", ["edit_file", { path: "image", oldText: "a", newText: "b" }], /not text/],
    ["an existing target", ["move_file", { from: "run", to: "empty" }], /already exists/],
    ["content that is too large", ["write_file", { path: "big", content: "x".repeat(101) }], /at most 100/],
  ];

  it.each(refused)(
    "a file tool refuses %s, changes no file and explains the reason to the model",
    async (_name, call, reason) => {
      const root = filled();
      symlinkSync(temporaryFolder(), join(root, "way"));
      const before = treeOf(root);
      const [output] = await new Coder([call], { root, maximumFileBytes: 100 }).run();
      expect(JSON.stringify(output)).toMatch(reason);
      expect(treeOf(root)).toEqual(before);
    },
  );

  it("read_file reads text, bytes and links without changing files", async () => {
    const root = filled();
    const outputs = await new Coder(
      ["src/main.ts", "image", "link"].map((path): Call => ["read_file", { path }]),
      { root },
    ).run();
    expect(outputs).toEqual([
      { path: "src/main.ts", content: "let a = 1;\nlet b = 1;\n" },
      { path: "image", encoding: "base64", content: "AP+ACg0=" },
      { path: "link", linkTo: "nowhere/else" },
    ]);
  });

  it("file tools change a file in order across several calls of one response", async () => {
    const root = filled();
    const edits = ["one", "two", "three"].map((word, at): Call => [
      "edit_file",
      { path: "empty", oldText: ["start", "one", "two"][at], newText: word },
    ]);
    const coder = new Coder([[["write_file", { path: "empty", content: "start" }], ...edits]], { root });
    const before = treeOf(root);
    await coder.run();
    expect(readFileSync(join(root, "empty"), "utf8")).toBe("three");
    await coder.rollBack(0);
    expect(treeOf(root)).toEqual(before);
  });
});

describe("a checkpoint", () => {
  it("a checkpoint lists the file changes since the previous one", async () => {
    const coder = new Coder(
      [
        [
          ["write_file", { path: "run", content: "x" }],
          ["write_file", { path: "new", content: "1" }],
          ["write_file", { path: "new", content: "2" }],
          ["write_file", { path: "gone", content: "2" }],
          ["delete_file", { path: "gone" }],
          ["delete_file", { path: "link" }],
        ],
        ["edit_file", { path: "new", oldText: "2", newText: "3" }],
      ],
      { root: filled() },
    );
    await coder.run();
    const checkpoints = await coder.build().saved.getCheckpoints({ nodeId: "callModel" });
    const [start, first, second] = checkpoints.map(({ fileChanges }) => fileChanges);
    expect(start).toEqual({ modified: [], created: [], deleted: [] });
    expect(first).toMatchObject({
      modified: [{ path: "run", before: { kind: "file", bytes: 10, mode: 0o755 }, after: { bytes: 1, mode: 0o755 } }],
      created: [{ path: "new", after: { bytes: 1, mode: 0o644 } }],
      deleted: [{ path: "link", before: { kind: "link", target: "nowhere/else" } }],
    });
    expect(second).toMatchObject({ modified: [{ path: "new" }], created: [], deleted: [] });
  });

  it("a checkpoint saved in a node lists file changes immediately", async () => {
    const { AIAgent, InMemoryPersistenceStorageProvider, Persistence, strategy } = await import("agent-persistence");
    const { scriptedModel } = await import("agent-persistence/testing");
    const { Workspace } = await import("agent-persistence/workspace");
    const workspace = new Workspace({ root: filled() });
    const write = workspace.tools.find(({ name }) => name === "write_file");
    const seen: unknown[] = [];
    const plan = strategy<string, string>("s", (graph) => {
      const node = graph.node("n", async (text: string, context) => {
        await context.tools.call(write as never, { path: "new", content: text } as never);
        const { fileChanges } = await persistence(context).createCheckpoint({ nodeId: "n", lastInput: text });
        seen.push(fileChanges.created.map(({ path }) => path));
        return text;
      });
      graph.edge(graph.start, node);
      graph.edge(node, graph.finish);
    });
    await new AIAgent({ llmModel: "m", promptExecutor: scriptedModel([]), strategy: plan, tools: workspace.tools })
      .install(Persistence, { storage: new InMemoryPersistenceStorageProvider(), participants: [workspace] })
      .run("x");
    expect(seen).toEqual([["new"]]);
  });
});

describe("a missing root", () => {
  it("a missing workspace root is named in the error", async () => {
    const root = temporaryFolder();
    rmSync(root, { recursive: true });
    const [output] = await new Coder([["write_file", { path: "a", content: "" }]], { root }).run();
    expect(JSON.stringify(output)).toContain(root);
  });
});

it("file tools declare to triggers whether they change files", () => {
  const { tools } = new Workspace({ root: "." });
  expect(tools.filter(({ modifiesFiles }) => modifiesFiles).map(({ name }) => name)).toEqual([
    "write_file",
    "edit_file",
    "delete_file",
    "move_file",
  ]);
});

describe("declarations of the workspace tools", () => {
  it("file tools that change files, and the commit tool, are dangerous: a checkpoint precedes the first of a response", async () => {
    const { workspace } = new Coder([]).build();
    const commit = commitTool({ root: workspace.root, author: { name: "A", email: "a@example.com" } });
    const flags = [...workspace.tools, commit].map(({ name, dangerous }) => [name, dangerous ?? false]);
    expect(Object.fromEntries(flags)).toEqual({
      read_file: false,
      write_file: true,
      edit_file: true,
      delete_file: true,
      move_file: true,
      commit: true,
    });
    const agent = new AIAgent({
      id: "coder",
      promptExecutor: scriptedModel([
        { toolCalls: [{ toolName: "write_file", input: { path: "a.txt", content: "" } }] },
        { toolCalls: [{ toolName: "delete_file", input: { path: "a.txt" } }] },
        "done",
      ]),
      llmModel: "scripted",
      tools: workspace.tools,
    }).install(Persistence, {
      storage: new InMemoryPersistenceStorageProvider(),
      participants: [workspace],
      triggers: [triggers.beforeDangerousOperation()],
    });
    await agent.run("go");
    const made = (await persistence(agent).agent().getCheckpoints()).map(({ trigger }) => trigger);
    expect(made).toEqual([undefined, "before_dangerous_operation", "before_dangerous_operation", undefined]);
  });
});
