import assert from "node:assert/strict";
import { test } from "node:test";
import { parsePythonVersion } from "../../lib/version-order/python.ts";
import { parseCoreMetadata } from "./core-metadata.ts";
import { cudaVersionOf } from "./cuda-version.ts";
import { isRemediated } from "./python-package.ts";

const cudaOf = (version: string, classifiers: readonly string[] = []) =>
  cudaVersionOf({ version: parsePythonVersion(version) ?? assert.fail(version), classifiers });

test("the CUDA version comes from the local label, or else from the most precise classifier", () => {
  const classifiers = ["Environment :: GPU :: NVIDIA CUDA :: 12", "Environment :: GPU :: NVIDIA CUDA :: 12 :: 12.1"];
  for (const [version, expected] of [
    ["1.0+cu121", "12.1"],
    ["1.0+cu92", "9.2"],
    ["1.0+cu12", "12"],
    ["1.0+pt2.cu118", "11.8"],
    ["1.0+cu", undefined],
    ["1.0+cuda", undefined],
    ["1.0", undefined],
  ] as const)
    assert.equal(cudaOf(version), expected, version);
  assert.equal(cudaOf("1.0", classifiers), "12.1");
  assert.equal(cudaOf("1.0", ["Environment :: GPU :: NVIDIA CUDA", "Environment :: GPU :: NVIDIA CUDA :: 11.8"]), "11.8");
  assert.equal(cudaOf("1.0+cu118", classifiers), "11.8");
});

test("a version is remediated if its local label has one of the labels", () => {
  const isRemediatedVersion = (version: string) => isRemediated(parsePythonVersion(version)?.local ?? [], ["holt", "remediated"]);
  for (const version of ["1.0+holt.1", "1.0+holt2", "1.0+remediated", "1.0+cu121.holt.1"]) assert.ok(isRemediatedVersion(version), version);
  for (const version of ["1.0", "1.0+holter", "1.0+cu121", "1.0+1"]) assert.ok(!isRemediatedVersion(version), version);
});

test("metadata is read up to its description, and fields can continue on further lines", () => {
  const text =
    "metadata-version: 2.4\r\nName: Demo\r\nVersion: v1.0RC1\r\nSummary: one\r\n two\r\nClassifier: a\r\nClassifier: b\r\n\r\nName: x\r\n";
  const { name, version, summary, classifiers, requiresPython } = parseCoreMetadata(Buffer.from(text));
  assert.deepEqual([name, version.normalized, summary, classifiers, requiresPython], ["Demo", "1.0rc1", "one", ["a", "b"], ""]);
});

test("version specifiers of real packages are accepted", () => {
  for (const specifiers of [">=2.7, !=3.0.*, !=3.1.*, <4", "~=3.8", ">=3.8,", "== 3.10.*", "===3.9.1", ">=3.8.0rc1"]) {
    const text = `Metadata-Version: 1.2\nName: demo\nVersion: 1\nRequires-Python: ${specifiers}\n`;
    assert.equal(parseCoreMetadata(Buffer.from(text)).requiresPython, specifiers);
  }
});
