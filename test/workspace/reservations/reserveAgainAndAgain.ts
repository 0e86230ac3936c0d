import { mkdirSync, readdirSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Reservations } from "../../../src/workspace/reservations/Reservations.ts";

// Reserves one file again and again. While it has the file it says so in a folder, and looks who else does.
const [directory = "", name = "", attempts = "0", ttlMs = "0"] = process.argv.slice(2);
const reservations = new Reservations({ directory });
const witnesses = join(directory, "witnesses");
mkdirSync(witnesses, { recursive: true });

for (let attempt = 1; attempt <= Number(attempts); attempt++) {
  const operation = attempt % 3 === 0 ? "read" : "write";
  const options = { owner: name, ttlMs: Number(ttlMs), timeoutMs: 120_000 };
  await using held = await reservations.acquire([{ path: "shared.txt", operation }], options);
  if (held.held) witness(operation);
  writeSync(1, `${attempt}\n`);
}

function witness(operation: "read" | "write"): void {
  const own = `${operation} ${process.pid}`;
  writeFileSync(join(witnesses, own), "");
  const others = readdirSync(witnesses).filter((other) => other !== own && isAlive(Number(other.split(" ")[1])));
  if (others.some((other) => operation === "write" || other.startsWith("write"))) {
    writeSync(1, `together with ${others.join()}\n`);
    process.exit(1);
  }
  rmSync(join(witnesses, own));
}

function isAlive(processId: number): boolean {
  try {
    return process.kill(processId, 0);
  } catch {
    return false;
  }
}
