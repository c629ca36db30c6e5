import assert from "node:assert/strict";
import { test } from "node:test";
import { splitSuffix } from "./maven-path.ts";
import { isMavenPreRelease, isMavenVersion, isRemediatedMavenVersion, isSnapshot } from "./maven-version.ts";

test("pre-releases are recognized by their qualifiers", () => {
  for (const version of ["1.0-SNAPSHOT", "1.0-alpha", "1.0-beta-2", "1.0.RC1", "2.0.0-M1", "1-a1", "1.0b3", "1.0-cr2", "3.0-milestone-1"])
    assert.ok(isMavenPreRelease(version), version);
  for (const version of ["1.0", "1.0.Final", "31.1-jre", "31.1-android", "1.0-sp1", "1.0-b", "r09", "2.0-search1", "1.0-arm64"])
    assert.ok(!isMavenPreRelease(version), version);
  assert.ok(isSnapshot("1.0-SNAPSHOT") && !isSnapshot("SNAPSHOT") && !isSnapshot("1.0-snapshot"));
});

test("a version must be a valid name of a folder", () => {
  for (const version of ["1", "1.0-SNAPSHOT", "r09", "1.0+holt.1", "2017.12.31", "1.0_2~3"]) assert.ok(isMavenVersion(version), version);
  for (const version of ["", ".", "..", "-1", "1/2", "1 2", "1\n", "$" + "{revision}", "[1,2)", "1".repeat(129)])
    assert.ok(!isMavenVersion(version), version);
});

test("a version is remediated if a qualifier has one of the labels", () => {
  const labels = ["holt", "remediated"];
  for (const version of ["1.0-holt-1", "1.0.holt2", "1.0+remediated1", "1.0-Remediated"])
    assert.ok(isRemediatedMavenVersion(version, labels), version);
  for (const version of ["1.0", "holt", "1.0-holtby", "1.0-unholt"]) assert.ok(!isRemediatedMavenVersion(version, labels), version);
});

test("a suffix is split into classifier and extension", () => {
  for (const [suffix, classifier, extension] of [
    [".jar", "", "jar"],
    [".tar.gz", "", "tar.gz"],
    [".pom.asc", "", "pom.asc"],
    ["-sources.jar", "sources", "jar"],
    ["-linux-x86_64.tar.gz.asc", "linux-x86_64", "tar.gz.asc"],
    ["-scala-2.13.jar", "scala-2.13", "jar"],
  ] as const)
    assert.deepEqual(splitSuffix(suffix), { classifier, extension });
});
