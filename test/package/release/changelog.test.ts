import { describe, expect, it } from "vitest";
import { sectionOf, withRelease } from "../../../.ci/changelog.mjs";

const before = `# Changelog

## [Unreleased]

### Fixed

- A kill no longer hides a call.

## [0.1.0] - 2026-12-01

The first release.
`;
const release = { version: "0.2.0", date: "2027-01-02" };

describe("the changelog of a release", () => {
  it("contains the written text and the commits of features, fixes and incompatible changes", () => {
    const subjects = [
      "feat(task): add limits",
      "fix: end streams",
      "docs: describe it",
      "refactor(cli)!: rename --all",
    ];
    const after = withRelease(before, { ...release, subjects });
    expect(sectionOf(after, "0.2.0")).toBe(`### Fixed

- A kill no longer hides a call.

### Commits: incompatible changes

- cli: rename --all

### Commits: features

- task: add limits

### Commits: fixes

- end streams`);
    expect(after.startsWith("# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2027-01-02\n")).toBe(true);
    expect(sectionOf(after, "0.1.0")).toBe("The first release.");
  });

  it("is refused for a version that the changelog has already", () => {
    expect(() => withRelease(before, { ...release, version: "0.1.0", subjects: [] })).toThrow("already has version");
  });
});
