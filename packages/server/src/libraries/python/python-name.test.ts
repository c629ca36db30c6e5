import assert from "node:assert/strict";
import { test } from "node:test";
import { normalizeProject, parsePythonFileName } from "./python-name.ts";

test("names that differ only in case and separators are the same", () => {
  for (const name of ["Friendly-Bard", "FRIENDLY-BARD", "friendly.bard", "friendly_bard", "friendly--bard", "FrIeNdLy-._.-bArD"])
    assert.equal(normalizeProject(name), "friendly-bard");
});

test("file names are parsed into the project, its version and the tags of a wheel", () => {
  for (const [fileName, ...expected] of [
    ["distribution-1.0-1-py27-none-any.whl", "distribution", "1.0", "py27-none-any"],
    [
      "torch-2.3.1+cu121-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
      "torch",
      "2.3.1+cu121",
      "cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64",
    ],
    ["my_pkg-1!2.0rc1-py2.py3-none-any.whl", "my_pkg", "1!2.0rc1", "py2.py3-none-any"],
    ["zope.interface-5.0.tar.gz", "zope.interface", "5.0", undefined],
    ["backports-ssl-match-hostname-3.7.0.1.tar.gz", "backports-ssl-match-hostname", "3.7.0.1", undefined],
  ] as const) {
    const { project, version, tags } = parsePythonFileName(fileName);
    assert.deepEqual([project, version.normalized, tags], expected);
  }
});
