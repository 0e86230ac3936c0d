import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { run } from "../support/TestTerminal.ts";

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "My Agent-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

describe("init", () => {
  it("writes a project named after its folder, whose storage is the chosen one", async () => {
    const cwd = emptyFolder();
    const { code, out } = await run(["init", "Trips & More", "--storage", "postgres"], { cwd });
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('cd "Trips & More" && npm install') });
    const folder = join(cwd, "Trips & More");
    expect(readFileSync(join(folder, "storage.ts"), "utf8")).toContain("PostgresPersistenceStorageProvider");
    const manifest: unknown = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    expect(manifest).toMatchObject({ name: "trips-more", type: "module", dependencies: { pg: /^\^8/ } });
  });

  it.skipIf(process.platform === "win32")("creates folders with the usual rights", async () => {
    const cwd = emptyFolder();
    mkdirSync(join(cwd, "usual"));
    await run(["init", "new/project"], { cwd });
    const modes = ["usual", "new", "new/project"].map((name) => statSync(join(cwd, name)).mode);
    expect(new Set(modes).size).toBe(1);
  });

  it("writes nothing if one of its files exists", async () => {
    const cwd = emptyFolder();
    writeFileSync(join(cwd, "model.ts"), "mine");
    const { code, err } = await run(["init"], { cwd });
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining("model.ts already exists") as string });
    expect(readdirSync(cwd)).toEqual(["model.ts"]);
    expect(readFileSync(join(cwd, "model.ts"), "utf8")).toBe("mine");
  });
});
