# guard: build, test and install with plain make; `make help` lists the rest.
PACKAGES = libgit2 libsodium liburing libxxhash libseccomp libzstd jansson
PREFIX = /usr/local
prefix = $(PREFIX)
# A shell may leave a ~ behind "prefix=" as it is.
override prefix := $(patsubst ~/%,$(HOME)/%,$(prefix))
bindir = $(prefix)/bin
mandir = $(prefix)/share/man
datadir = $(prefix)/share
# Not share/guard: below ~/.local that is a user's state.
docdir = $(datadir)/doc/guard
zshdir = $(datadir)/zsh/site-functions
DESTDIR =
# yes: installs the AppArmor profile always. Otherwise only beside AppArmor 4.
APPARMOR =
VERSION = 0.1.0

BUILD = build
# Of the environment, too, where packagers put them.
CFLAGS ?= -O2 -g
CPPFLAGS ?=
LDFLAGS ?=
PKG_CONFIG ?= pkg-config
STRIP ?= strip
HARDEN = -fstack-protector-strong -fPIE -fstack-clash-protection \
	$(if $(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),, \
	-D_FORTIFY_SOURCE=2)
WARN = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wcast-qual -Wvla -Wformat=2 -Werror=implicit \
	-Wno-missing-field-initializers -Wno-sign-compare
WERROR ?=
PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PACKAGES) 2>/dev/null)
# Loaded when they are needed (base/library.h), never linked.
LOADED = libgit2 libsodium
PKG_LIBS := $(shell $(PKG_CONFIG) --libs \
	$(filter-out $(LOADED),$(PACKAGES)) 2>/dev/null)
BASE_CFLAGS = -std=gnu11 -D_GNU_SOURCE -DGUARD_VERSION='"$(VERSION)"' \
	-I. -I$(GENERATED) -pthread $(WARN) $(WERROR) $(PKG_CFLAGS)
ALL_CFLAGS = $(BASE_CFLAGS) -MMD -MP -ffile-prefix-map=$(CURDIR)=. \
	$(HARDEN) $(CPPFLAGS) $(CFLAGS)
ALL_LDFLAGS = -pie -Wl,-z,relro,-z,now -Wl,--as-needed -pthread $(LDFLAGS)

LAYERS = base snapshot overlay restore guard
DEPTHS = $(LAYERS) $(LAYERS:=/*) $(LAYERS:=/*/*)
SOURCES := $(sort $(wildcard $(DEPTHS:=/*.c)))
HEADERS := $(wildcard $(DEPTHS:=/*.h))
MAIN = guard/cli/main.c
# Texts that are compiled in (base/shipped.h).
TEXTS := $(sort $(wildcard guard/agent/profiles/* guard/rules/*.rules \
	guard/sandbox/*.list guard/cli/*.sh))
LIB_OBJECTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out $(MAIN),$(SOURCES))) \
	$(BUILD)/obj/shipped.o
UNIT_SOURCES := $(sort $(wildcard tests/unit/test_*.c))
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(UNIT_SOURCES))
# Programs of the test harness: one file each, libc only.
TOOL_SOURCES := $(sort $(wildcard tests/lib/*.c tests/hostile/*.c))
TOOLS := $(patsubst %.c,$(BUILD)/%,$(TOOL_SOURCES))
# Preloaded into guard, it shifts the clock.
CLOCK := $(BUILD)/tests/lib/clock.so
# With the library; docs/examples shows its use (guard/guard.h).
STORE_TOOLS := $(BUILD)/tests/crash/storeact $(BUILD)/docs/examples/apply \
	$(BUILD)/tests/risk/measure $(BUILD)/tests/timeline/check \
	$(BUILD)/tests/timeline/write
COUNTING := $(BUILD)/tests/calls/guard
# Fuzz targets: one file each, linked with tests/fuzz/driver.c for check and
# with libFuzzer for fuzz.
FUZZ_SOURCES := $(sort $(filter-out tests/fuzz/driver.c, \
	$(wildcard tests/fuzz/*.c)))
FUZZ_TARGETS := $(patsubst %.c,$(BUILD)/%,$(FUZZ_SOURCES))
FUZZ_DRIVER = tests/fuzz/driver.c
FUZZ_SECONDS = 60
# More than two at once: many wait for the disk.
PROVE = prove -j4 --timer
# Short lines; `make V=1` shows the commands.
Q = $(if $(V),,@)
say = $(if $(V),,@echo '  $(1)	$@')

# Made of the table of verbs and options.
GENERATED = $(BUILD)/generated
OPTIONS = $(patsubst %,$(GENERATED)/guard_%.h,options verbs calls)
TABLE = $(BUILD)/docs/table
COMPLETIONS := $(patsubst %,$(BUILD)/docs/completion.%,bash fish zsh)

all: $(BUILD)/guard $(BUILD)/docs/guard.1 $(COMPLETIONS)

$(TABLE): made = table
$(GENERATED)/guard_options.h: made = struct
$(GENERATED)/guard_verbs.h: made = source
$(GENERATED)/guard_calls.h: made = calls
$(TABLE) $(OPTIONS): guard/cli/verbs.txt guard/cli/verbs.awk
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)awk -v make=$(made) -f guard/cli/verbs.awk $< >$@.new
	$(Q)mv $@.new $@

$(BUILD)/docs/guard.1: $(TABLE) docs/guard.1.in docs/manual.awk
	$(call say,GEN)
	$(Q)awk -f docs/manual.awk $(TABLE) docs/guard.1.in >$@

$(COMPLETIONS): $(BUILD)/docs/completion.%: $(TABLE) docs/completion.% \
		docs/completion.awk
	$(call say,GEN)
	$(Q)awk -v shell=$* -f docs/completion.awk $(TABLE) \
		docs/completion.$* >$@

$(BUILD)/guard: $(BUILD)/obj/guard/cli/main.o $(BUILD)/libguard.a \
		| $(BUILD)/texts.checked
	$(call say,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS)

# As texts of C; again when a file is new or gone, too.
$(BUILD)/shipped.c: $(TEXTS) $(sort $(dir $(TEXTS)))
	@mkdir -p $(@D)
	$(Q){ echo '#include "base/shipped.h"'; \
	echo 'const struct shipped_text shipped_texts[] = {'; \
	for text in $(TEXTS); do \
		echo "{ \"$$text\","; \
		sed -e 's/[\"]/\\&/g' -e 's/.*/"&\\n"/' "$$text"; \
		echo '},'; \
	done; echo '{0} };'; } >$@.new
	$(Q)mv $@.new $@

$(BUILD)/obj/shipped.o: $(BUILD)/shipped.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

# Not run where it was built for another machine, whose number stands in bytes
# 18 and 19 of a program.
CHECK_TEXTS = $(BUILD)/tests/lint/texts
$(BUILD)/texts.checked: $(CHECK_TEXTS)
	$(Q)number() { od -An -tx1 -j18 -N2 "$$1"; }; \
	[ "$$(number $<)" != "$$(number /bin/sh)" ] || $<
	@: >$@

$(BUILD)/libguard.a: $(LIB_OBJECTS)
	@rm -f $@
	$(Q)$(AR) rcsD $@ $^

$(BUILD)/obj/%.o: %.c | $(OPTIONS)
	@mkdir -p $(@D)
	@$(PKG_CONFIG) --exists --print-errors $(PACKAGES) || { \
		echo "guard: development libraries are missing: run" \
		"tests/install-deps as root, then make again" >&2; exit 1; }
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

# A test that needs more of the linker says so in a line of its own:
#	/* link: -Wl,--wrap=fsync */
$(BUILD)/tests/unit/%: tests/unit/%.c $(BUILD)/libguard.a
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -MF $@.d -o $@ $< \
		$$(sed -n 's|^/\* link: \(.*\) \*/$$|\1|p' $<) \
		$(BUILD)/libguard.a $(PKG_LIBS) $$($(PKG_CONFIG) --libs cmocka)

# The program itself, counting some calls: see tests/integration/calls.t.
$(COUNTING): tests/calls/count.c $(BUILD)/obj/guard/cli/main.o \
		$(BUILD)/libguard.a
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -MF $@.d \
		-Wl,--wrap=scan_layer,--wrap=tree_diff,--wrap=catalog_load \
		-o $@ $^ $(PKG_LIBS)

$(TOOLS): $(BUILD)/%: %.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -MF $@.d -o $@ $<

$(STORE_TOOLS) $(CHECK_TEXTS): $(BUILD)/%: %.c $(BUILD)/libguard.a
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -MF $@.d -o $@ $< \
		$(BUILD)/libguard.a $(PKG_LIBS)

$(BUILD)/tests/fuzz/%: tests/fuzz/%.c tests/fuzz/driver.c $(BUILD)/libguard.a
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -MF $@.d -o $@ $< \
		$(FUZZ_DRIVER) $(BUILD)/libguard.a $(PKG_LIBS)

unit: $(UNIT_TESTS)

fuzz-targets: $(FUZZ_TARGETS)

$(CLOCK): tests/compare/clock.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CFLAGS) -shared -fPIC -o $@ $<

tools: $(TOOLS) $(STORE_TOOLS) $(CLOCK) $(COUNTING)

# The goals below first install the packages that they need. The libraries'
# flags are known only after that, hence the second make.
demo:
	tests/install-deps demo
	+$(MAKE) --no-print-directory all tools
	GUARD=$(CURDIR)/$(BUILD)/guard tests/demo/run.sh

check:
	tests/install-deps check
	+$(MAKE) --no-print-directory check-built

check-built: all unit tools fuzz-targets
	tests/lib/run-check $(BUILD) $(PROVE)

# Some tests alone: make test T="conflicts test_pack"
T =
CHOSEN = $(notdir $(basename $(T)))
test:
	@test -n "$(T)" || { echo 'make test: name a test: make test' \
		'T="conflicts test_pack"' >&2; exit 2; }
	tests/install-deps check
	+$(MAKE) --no-print-directory test-built

test-built: all tools $(filter $(CHOSEN:%=$(BUILD)/tests/unit/%),$(UNIT_TESTS)) \
		$(filter $(CHOSEN:fuzz_%=$(BUILD)/tests/fuzz/%),$(FUZZ_TARGETS))
	@TESTS="$(CHOSEN)" tests/lib/run-check $(BUILD) $(PROVE)

# Hours, not minutes: every point at which things can end or fail.
crash:
	tests/install-deps crash
	+$(MAKE) --no-print-directory all tools $(BUILD)/tests/unit/test_storm
	tests/crash/run $(BUILD) prove --timer

hostile:
	tests/install-deps check
	+$(MAKE) --no-print-directory all tools
	tests/hostile/run $(BUILD)

# Checked by the compiler without output: every source, and every header that is
# not the first include of its own source; again when the file, or a file that
# it includes, has changed.
SYNTAX := $(patsubst %,$(BUILD)/syntax/%,$(SOURCES) \
	$(filter-out $(SOURCES:.c=.h),$(HEADERS)) \
	$(UNIT_SOURCES) $(TOOL_SOURCES) $(STORE_TOOLS:$(BUILD)/%=%.c) \
	tests/calls/count.c tests/lint/texts.c \
	$(FUZZ_SOURCES) $(FUZZ_DRIVER))

syntax: $(SYNTAX)

$(SYNTAX): $(BUILD)/syntax/%: % | $(OPTIONS)
	@mkdir -p $(@D) && $(CC) $(BASE_CFLAGS) \
		$(if $(filter %.h,$<),-Wno-unused-function -x c) \
		-fsyntax-only -MMD -MP -MF $@.d -MT $@ $< && : >$@

# Some 900 MB from the npm registry, once.
agents:
	tests/install-deps agents
	+$(MAKE) --no-print-directory all tools
	tests/agents/run $(BUILD) prove --timer -j 4

lint:
	tests/install-deps lint
	+tests/lint/run

# A peer that cannot be installed is only missing from the table.
bench:
	-tests/install-deps bench
	+$(MAKE) --no-print-directory all tools
	GUARD=$(CURDIR)/$(BUILD)/guard tests/bench/run.sh

vm:
	tests/install-deps check
	+$(MAKE) --no-print-directory all unit tools fuzz-targets
	tests/vm/run $(BUILD) $(VM)

# With an older program: OLD=PATH, or OLD_COMMIT=REV to build it first.
compare:
	+$(MAKE) --no-print-directory all tools
	OLD='$(OLD)' OLD_COMMIT='$(OLD_COMMIT)' WORLDS='$(WORLDS)' \
		SHOW='$(SHOW)' tests/compare/run $(BUILD)

# How many of the last commits of a repository would ask for a second look.
risk-measure: $(BUILD)/tests/risk/measure
	$(Q)$(BUILD)/tests/risk/measure $(if $(V),-v) '$(REPO)'

asan:
	tests/install-deps unit
	+$(MAKE) --no-print-directory BUILD=build-asan HARDEN= asan-built \
		CFLAGS='-O1 -g -fno-omit-frame-pointer \
		-fsanitize=address,undefined -fno-sanitize-recover=all'

asan-built: unit tools fuzz-targets
	ASAN_OPTIONS=detect_leaks=1 TEST_TIMEOUT=900 \
		tests/lib/run-check --unit $(BUILD) $(PROVE)

# Each target for FUZZ_SECONDS with libFuzzer; inputs that reach new code are
# collected in build-fuzz/found. gcc tells the sources of the address sanitizer
# by a macro that clang lacks.
fuzz:
	tests/install-deps fuzz
	+$(MAKE) --no-print-directory BUILD=build-fuzz HARDEN= CC=clang \
		FUZZ_DRIVER= LDFLAGS=-fsanitize=fuzzer,address,undefined \
		CFLAGS='-O1 -g -fno-omit-frame-pointer -D__SANITIZE_ADDRESS__ \
		-fsanitize=fuzzer-no-link,address,undefined \
		-fno-sanitize-recover=all' fuzz-built

fuzz-built: fuzz-targets
	tests/fuzz/run $(BUILD) $(FUZZ_SECONDS)

install: all
	install -d $(DESTDIR)$(bindir)
	install -m 755 $(INSTALL_STRIP) $(BUILD)/guard \
		$(DESTDIR)$(bindir)/guard
	@set -e; put() { \
		install -d "$$2"; \
		echo "install -m 644 $$1 $$2/$$3"; \
		install -m 644 "$$1" "$$2/$$3"; }; \
	put $(BUILD)/docs/guard.1 $(DESTDIR)$(mandir)/man1 guard.1; \
	put README.md $(DESTDIR)$(docdir) README.md; \
	put LICENSE $(DESTDIR)$(docdir) LICENSE; \
	put $(BUILD)/docs/completion.bash \
		$(DESTDIR)$(datadir)/bash-completion/completions guard; \
	put $(BUILD)/docs/completion.zsh $(DESTDIR)$(zshdir) _guard; \
	put $(BUILD)/docs/completion.fish \
		$(DESTDIR)$(datadir)/fish/vendor_completions.d guard.fish; \
	sed 's|@bindir@|$(bindir)|' docs/apparmor.in \
		>$(DESTDIR)$(docdir)/apparmor; \
	chmod 644 $(DESTDIR)$(docdir)/apparmor; \
	if [ "$(APPARMOR)" = yes ] || { [ -w $(DESTDIR)/etc/apparmor.d ] && \
		[ -e $(DESTDIR)/etc/apparmor.d/abi/4.0 ]; }; then \
		put $(DESTDIR)$(docdir)/apparmor \
			$(DESTDIR)/etc/apparmor.d guard; \
		[ -n "$(DESTDIR)" ] || apparmor_parser -r \
			/etc/apparmor.d/guard || :; \
	fi; \
	case "$(DESTDIR)$(zshdir)" in /usr/*) ;; *) [ -n "$(DESTDIR)" ] || \
		echo 'guard: for zsh, before compinit in ~/.zshrc:' \
			'fpath=($(zshdir) $$fpath)';; esac

install-strip:
	+$(MAKE) --no-print-directory install \
		INSTALL_STRIP='-s --strip-program=$(STRIP)'

uninstall:
	rm -f $(DESTDIR)$(bindir)/guard $(DESTDIR)$(mandir)/man1/guard.1 \
		$(DESTDIR)$(datadir)/bash-completion/completions/guard \
		$(DESTDIR)$(zshdir)/_guard \
		$(DESTDIR)$(datadir)/fish/vendor_completions.d/guard.fish \
		$(addprefix $(DESTDIR)$(docdir)/,README.md LICENSE apparmor)
	@profile=$(DESTDIR)/etc/apparmor.d/guard; \
	if [ -w "$$profile" ]; then \
		[ -n "$(DESTDIR)" ] || apparmor_parser -R "$$profile" || :; \
		echo "rm -f $$profile"; rm -f "$$profile"; \
	fi
	-test ! -d $(DESTDIR)$(docdir) || rmdir $(DESTDIR)$(docdir)
	@[ -n "$(DESTDIR)" ] || { \
		echo "guard: your files' versions stay; to remove them, too:"; \
		echo '  before uninstall  guard purge --everything'; \
		echo '  after it          chmod -R u+rwX ~/.local/share/guard &&'; \
		echo '                    rm -rf ~/.local/share/guard' \
			'(for root /var/lib/guard)'; }

# Packages of Debian in build/deb, for this machine's release; DEB_HOST=arm64
# builds for another architecture, whose packages of debian/control are
# installed (apt-get build-dep --host-architecture=arm64 .). In a copy of the
# sources: dpkg-buildpackage writes above the directory that it builds.
DEB = $(BUILD)/deb
DEB_SOURCE = $(DEB)/guard-$(VERSION)
DEB_HOST =
deb:
	$(if $(DEB_HOST),,tests/install-deps deb)
	rm -rf $(DEB)
	mkdir -p $(DEB_SOURCE)
	tar -c --exclude=./.git --exclude='./build*' . | tar -x -C $(DEB_SOURCE)
	cd $(DEB_SOURCE) && env -u MAKEFLAGS -u MAKELEVEL dpkg-buildpackage -b \
		-us -uc $(if $(DEB_HOST),-a$(DEB_HOST))
	rm -rf $(DEB_SOURCE)
	lintian --fail-on error,warning $(DEB)/*.changes

# A bare root directory of a Debian release: see tests/distro.
DISTRO = trixie
DISTRO_DIR = $(BUILD)/distro-$(DISTRO)
GOALS = demo check
distro:
	T='$(T)' MIRROR='$(MIRROR)' tests/distro $(DISTRO) \
		$(DISTRO_DIR) $(GOALS)

release:
	tests/install-deps deb
	.ci/release $(BUILD) $(VERSION)

clean:
	rm -rf build build-asan build-fuzz

help:
	@echo 'make                build build/guard'
	@echo 'make demo           see it work: wreck a project, get it back'
	@echo 'make check          all tests, as root and as a plain user'
	@echo 'make test           some tests alone: make test T="conflicts test_pack"'
	@echo 'make crash          every kill point, failing call and power cut'
	@echo 'make hostile        every attack, without guard and with it'
	@echo 'make agents         real agents of the npm registry inside guard (docs/agents.md)'
	@echo 'make risk-measure   share of the last 200 commits of REPO=DIR with a risk [V=1: lists them]'
	@echo 'make lint           format, layers, names, scripts, man page'
	@echo 'make asan           unit tests with address and UB checks'
	@echo 'make fuzz           fuzz the formats [FUZZ_SECONDS=60] each'
	@echo 'make bench          speed and memory beside other tools: BENCH=quick,'
	@echo '                    ROWS=...; see docs/performance.md'
	@echo 'make compare        differences from an older program: OLD=PATH or'
	@echo '                    OLD_COMMIT=REV; see tests/compare/run'
	@echo 'make vm             chosen tests on a kernel of Debian, emulated, with'
	@echo '                    systemd: VM="--kernel linux-image-amd64 run limits"'
	@echo 'make distro         demo and check in a bare root directory, only as root:'
	@echo '                    DISTRO=trixie GOALS="demo package apt" MIRROR=...'
	@echo 'make deb            packages of Debian, in build/deb'
	@echo 'make release        source archive, packages and checksums, built twice'
	@echo 'make install        [PREFIX=/usr/local] [DESTDIR=]'
	@echo '                    [APPARMOR=yes] [zshdir=...]; install-strip: without'
	@echo '                    debugging information, a quarter of the size'
	@echo 'make uninstall      remove the installed files'
	@echo 'make unit           build the unit tests only'
	@echo 'make clean'
	@echo
	@echo 'demo, check, crash, hostile, agents, lint, asan, fuzz, bench, vm, distro,'
	@echo 'deb and release install missing Debian packages first, by apt-get as root'
	@echo 'or through sudo.'

.DELETE_ON_ERROR:
.PHONY: vm all unit tools demo check check-built test test-built crash hostile \
	agents syntax lint bench compare asan asan-built fuzz fuzz-built fuzz-targets \
	install install-strip uninstall deb distro release clean \
	help
-include $(LIB_OBJECTS:.o=.d) $(BUILD)/obj/guard/cli/main.d \
	$(UNIT_TESTS:=.d) $(TOOLS:=.d) $(STORE_TOOLS:=.d) $(CHECK_TEXTS).d $(COUNTING).d \
	$(FUZZ_TARGETS:=.d) $(SYNTAX:=.d)
