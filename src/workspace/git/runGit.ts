import { execFile } from "node:child_process";
import { devNull } from "node:os";
import { GitError } from "../../errors/workspaceErrors.ts";
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join, sep } from "node:path";

const names = process.platform === "win32" ? ["git.exe"] : ["git"];
const known = new Map<string, GitProgram>();

const timeoutMs = 60_000;
const maximumBytes = 64 * 1024 * 1024;

export interface GitCall {
  /** The command and its arguments. External values follow `--end-of-options` or `--`, or were validated. */
  readonly args: readonly string[];
  readonly program: GitProgram;
  /** The working directory, which no other program writes to. */
  readonly directory: string;
  /** Settings that override {@link safeSettings}, such as `core.fileMode=false`. */
  readonly settings?: readonly string[];
  /** Variables in addition to PATH, which is the only default. */
  readonly environment: Readonly<Record<string, string>>;
  readonly input?: string | Uint8Array;
  readonly signal?: AbortSignal;
  /** The file with the user's configuration, or an empty string for the default file. Defaults to no file. */
  readonly userConfiguration?: string;
}

export interface GitAnswer {
  readonly exitCode: number;
  readonly output: Buffer;
}

/** Runs git without a shell, for a minute and 64 MB of output at most. @throws GitError for other exit codes */
export function runGit(call: GitCall, expected: readonly number[] = [0]): Promise<GitAnswer> {
  const [command = ""] = call.args;
  const options = {
    cwd: call.directory,
    env: environmentOf(call),
    encoding: "buffer",
    timeout: timeoutMs,
    killSignal: "SIGKILL",
    maxBuffer: maximumBytes,
    windowsHide: true,
    ...(call.signal && { signal: call.signal }),
  } as const;
  const settings = [...safeSettings, ...(call.settings ?? [])].flatMap((setting) => ["-c", setting]);
  return new Promise((resolve, reject) => {
    const child = execFile(call.program.file, [...settings, ...call.args], options, (error, output, complaint) => {
      const exitCode = error === null ? 0 : error.code;
      if (call.signal?.aborted) reject(call.signal.reason as Error);
      else if (typeof exitCode === "number" && expected.includes(exitCode)) resolve({ exitCode, output });
      else reject(new GitError(command, reasonOf(error, complaint), { cause: error }));
    });
    // Ignores that git closes its input when it exits early. The exit code reports the reason.
    child.stdin?.on("error", () => {});
    child.stdin?.end(call.input);
  });
}

const tooLarge = "ERR_CHILD_PROCESS_STDIO_MAXBUFFER";

/** Returns whether a call failed because git wrote too much. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof GitError && (error.cause as NodeJS.ErrnoException | undefined)?.code === tooLarge;
}

function environmentOf({ program, environment, userConfiguration }: GitCall): Record<string, string> {
  const { GIT_CONFIG_GLOBAL: none = "", ...others } = gitEnvironment(process.env, program.path);
  const file = userConfiguration ?? none;
  return { ...others, ...(file !== "" && { GIT_CONFIG_GLOBAL: file }), ...environment };
}

function reasonOf(error: { readonly code?: unknown; readonly killed?: boolean } | null, complaint: Buffer): string {
  if (error?.code === tooLarge) return `it wrote more than ${maximumBytes} bytes`;
  if (error?.killed) return `it did not end within ${timeoutMs} ms`;
  const text = complaint.toString().trim();
  return text === "" ? `it ended with ${String(error?.code)}` : text.slice(0, 500);
}

/** Builds the environment of git from scratch, without variables of the caller such as `GIT_EXTERNAL_DIFF`. */
export function gitEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  path: string,
): Record<string, string> {
  const systemRoot = environment["SystemRoot"];
  return {
    PATH: path,
    ...(systemRoot !== undefined && { SystemRoot: systemRoot }),
    LC_ALL: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: devNull,
    GIT_ATTR_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_NO_REPLACE_OBJECTS: "1",
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "",
    GIT_PAGER: "cat",
    GIT_EDITOR: "false",
  };
}

/** Settings that override the repository's settings for the few commands that read them. */
const safeSettings: readonly string[] = [
  `core.hooksPath=${devNull}`,
  "core.fsmonitor=false",
  `core.attributesFile=${devNull}`,
  `core.excludesFile=${devNull}`,
  "core.pager=cat",
  "core.sshCommand=false",
  "core.gitProxy=none",
  "credential.helper=",
  "protocol.allow=never",
  "diff.external=",
  "log.showSignature=false",
  "commit.gpgSign=false",
  "tag.gpgSign=false",
  "gpg.program=false",
  "submodule.recurse=false",
  "gc.auto=0",
  "maintenance.auto=false",
  "core.splitIndex=false",
  "core.untrackedCache=false",
];

/** The git executable, and the PATH for programs that git starts. */
export interface GitProgram {
  readonly file: string;
  readonly path: string;
}

/**
 * Returns the first git in PATH outside of the `untrusted` directories, because a repository or a package runner could
 * provide another program. Ignores relative entries. Cached by repository and PATH.
 *
 * @throws GitError
 */
export function gitProgram(path: string, untrusted: readonly string[]): GitProgram {
  const key = [...untrusted, path].join("\0");
  const program = known.get(key) ?? findGit(path, untrusted);
  known.set(key, program);
  return program;
}

function findGit(path: string, untrusted: readonly string[]): GitProgram {
  const isTrusted = (place: string) => untrusted.every((folder) => isOutside(place, folder));
  const entries = path.split(delimiter).filter((entry) => isAbsolute(entry) && isTrusted(entry));
  for (const entry of entries)
    for (const name of names) {
      const file = programAt(join(entry, name));
      if (file !== undefined && isTrusted(file)) return { file, path: entries.join(delimiter) };
    }
  throw new GitError("", "git is not installed, or not in PATH outside the repository");
}

function isOutside(place: string, top: string): boolean {
  const real = realPath(place) ?? place;
  const within = realPath(top) ?? top;
  return real !== within && !real.startsWith(within.endsWith(sep) ? within : within + sep);
}

function programAt(file: string): string | undefined {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile() ? realpathSync(file) : undefined;
  } catch {
    return undefined;
  }
}

function realPath(place: string): string | undefined {
  try {
    return realpathSync(place);
  } catch {
    return undefined;
  }
}

/** Returns the parts of an output whose parts end with a NUL character. */
export function splitAtNul(output: Buffer): readonly string[] {
  return output
    .toString()
    .split("\0")
    .filter((part) => part !== "");
}
