import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";

const memory = "/dev/shm";
const enoughBytes = 4 * 1024 ** 3;

/**
 * Has all processes of this run make their temporary files in memory, where Linux has room for them and can run programs
 * there. Syncs to a device take much of the time of the tests, and no test sees the difference: a killed process loses
 * nothing that it wrote, and a power loss is simulated. A `TMPDIR` that is set wins. After a failure the folder is kept.
 */
export function keepTemporaryFilesInMemory(): void {
  if (process.env["TMPDIR"] !== undefined || !isFit()) return;
  const folder = mkdtempSync(`${memory}/agent-persistence-`);
  // As of `/tmp`: some tests run as another user.
  chmodSync(folder, 0o1777);
  process.env["TMPDIR"] = folder;
  process.on("exit", (code) => code === 0 && rmSync(folder, { recursive: true, force: true }));
}

function isFit(): boolean {
  try {
    const [options] = readFileSync("/proc/mounts", "utf8").match(/(?<= \/dev\/shm tmpfs )\S+/) ?? [];
    if (options === undefined || /\b(?:noexec|ro)\b/.test(options)) return false;
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize >= enoughBytes;
  } catch {
    return false;
  }
}
