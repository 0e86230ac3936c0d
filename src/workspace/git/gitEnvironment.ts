import { devNull } from "node:os";
import { delimiter, isAbsolute } from "node:path";

/**
 * The environment of git, built from scratch so that no variable of the caller (`GIT_CONFIG_COUNT`, `GIT_SSH_COMMAND`,
 * `GIT_EXTERNAL_DIFF`, …) has an effect. Relative entries of PATH are dropped: they could find a program in the repository.
 */
export function gitEnvironment(environment: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const path = (environment["PATH"] ?? "").split(delimiter).filter((entry) => isAbsolute(entry));
  const systemRoot = environment["SystemRoot"];
  return {
    PATH: path.join(delimiter),
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

/** Settings that override those of the repository, for the few commands that read them. */
export const safeSettings: readonly string[] = [
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
].flatMap((setting) => ["-c", setting]);
